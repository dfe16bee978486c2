// Keeps the live page and every page that was visited, so that they open again without the server. The build writes the
// version and the lists; a new build is a new version, and the copies of the old one go.
const VERSION = "VERSION", LIVE = "LIVE", SEARCH = "SEARCH";
const CACHE = `bertlab-site-${VERSION}`;

const keep = async (paths) => (await caches.open(CACHE)).addAll(paths.map((path) => new Request(path, { cache: "reload" })));

addEventListener("install", (event) => event.waitUntil(keep(LIVE).then(() => skipWaiting())));

addEventListener("activate", (event) => event.waitUntil((async () => {
  const old = (await caches.keys()).filter((name) => name.startsWith("bertlab-site-") && name !== CACHE);
  await Promise.all(old.map((name) => caches.delete(name)));
  await clients.claim();
})()));

let keeping = null; // the index: a search asks for many parts of it

// A page is the same whatever its link says, and so is the index that Pagefind asks for with the time of day. The weights are
// kept by the worker of the live page.
async function answer(request) {
  const cache = await caches.open(CACHE), page = request.mode === "navigate", search = request.url.includes("/pagefind/");
  const kept = await cache.match(request, { ignoreSearch: page || search });
  if (kept) return kept;
  const fresh = await fetch(request);
  if (search) keeping ??= keep(SEARCH).catch(() => { keeping = null; });
  else if (fresh.status === 200 && !request.url.includes(".safetensors")) await cache.put(page ? request.url.split("?")[0] : request, fresh.clone());
  return fresh;
}

// A page that a browser loads ahead of the reader is not visited. Firefox loads the next chapter so and, when the reader
// goes elsewhere meanwhile, would report an error of whoever was answering.
addEventListener("fetch", (event) => {
  const { method, url, mode, destination } = event.request, ahead = mode === "no-cors" && !destination;
  if (method === "GET" && !ahead && new URL(url).origin === location.origin) event.respondWith(answer(event.request));
});

// Keeps the live page and every page that was visited, so that they open again without the server. The build writes the
// version and the lists; a new build is a new version, and the copies of the old one go.
const VERSION = "VERSION", LIVE = "LIVE", SEARCH = "SEARCH", WEIGHTS = "WEIGHTS";
const CACHE = `bertlab-site-${VERSION}`;
const STORE = "bertlab-weights"; // filled by the worker of the live page

const fresh = (path) => new Request(path, { cache: "reload" });
const bare = (url) => url.split("?")[0];
const isSearch = (url) => url.includes("/pagefind/");
const keep = async (paths) => (await caches.open(CACHE)).addAll(paths.map(fresh));
const older = async () => (await caches.keys()).filter((name) => name.startsWith("bertlab-site-") && name !== CACHE);

// What was kept of the old build is kept of the new one before it begins: the next visit may be without the network. If
// something does not come, the old build stays, and the browser tries again.
addEventListener("install", (event) => event.waitUntil((async () => {
  await keep(LIVE);
  await keepPages();
  await keepWeights();
  await skipWaiting();
})()));

async function keepPages() {
  const cache = await caches.open(CACHE), lists = await Promise.all((await older()).map(async (name) => (await caches.open(name)).keys()));
  const visited = lists.flat().map(({ url }) => bare(url));
  await Promise.all(visited.filter((url) => !isSearch(url)).map(async (url) => {
    const there = await cache.match(url, { ignoreSearch: true }), response = there ?? (await fetch(fresh(url)));
    if (!there && response.status === 200) await cache.put(url, response); // else the new build has no such page
  }));
  if (visited.some(isSearch)) await keep(SEARCH);
}

async function keepWeights() {
  const store = await caches.open(STORE);
  for (const path of WEIGHTS) {
    if (!(await store.match(path)) && (await store.match(path, { ignoreSearch: true }))) await store.add(fresh(path));
  }
}

addEventListener("activate", (event) => event.waitUntil((async () => {
  await Promise.all((await older()).map((name) => caches.delete(name)));
  const store = await caches.open(STORE), now = WEIGHTS.map((path) => new URL(path, location).href);
  await Promise.all((await store.keys()).filter(({ url }) => !now.includes(url)).map((one) => store.delete(one)));
  await clients.claim();
})()));

let keeping = null; // the index: a search asks for many parts of it

// Within a build a file is the same whatever its link says: a page, and the index that Pagefind asks for with the time of
// day. A full disk keeps nothing, and nothing is lost.
async function answer(request) {
  const cache = await caches.open(CACHE), kept = await cache.match(request, { ignoreSearch: true });
  if (kept) return kept;
  const response = await fetch(request), weights = request.url.includes(".safetensors");
  if (isSearch(request.url)) keeping ??= keep(SEARCH).catch(() => { keeping = null; });
  else if (response.status === 200 && !weights) await cache.put(bare(request.url), response.clone()).catch(() => null);
  return response;
}

// A page that a browser loads ahead of the reader is not visited. Firefox loads the next chapter so and, when the reader
// goes elsewhere meanwhile, would report an error of whoever was answering.
addEventListener("fetch", (event) => {
  const { method, url, mode, destination } = event.request, ahead = mode === "no-cors" && !destination;
  if (method === "GET" && !ahead && new URL(url).origin === location.origin) event.respondWith(answer(event.request));
});

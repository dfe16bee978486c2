// Keeps the live page and every page that was visited, so that they open again without the server. The build writes the
// version and what is kept at once; a new build is a new version, and the copies of the old one go.
const VERSION = "VERSION", AT_ONCE = ["AT_ONCE"];
const CACHE = `bertlab-site-${VERSION}`;

addEventListener("install", (event) => event.waitUntil((async () => {
  const cache = await caches.open(CACHE);
  await cache.addAll(AT_ONCE.map((path) => new Request(path, { cache: "reload" })));
  await skipWaiting();
})()));

addEventListener("activate", (event) => event.waitUntil((async () => {
  const old = (await caches.keys()).filter((name) => name.startsWith("bertlab-site-") && name !== CACHE);
  await Promise.all(old.map((name) => caches.delete(name)));
  await clients.claim();
})()));

async function answer(request) {
  const cache = await caches.open(CACHE), page = request.mode === "navigate";
  const kept = await cache.match(request, { ignoreSearch: page }); // a page is the same whatever its link says
  if (kept) return kept;
  const fresh = await fetch(request);
  if (fresh.status === 200 && !request.url.includes("/model.safetensors")) await cache.put(page ? request.url.split("?")[0] : request, fresh.clone());
  return fresh;
}

addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  if (method === "GET" && new URL(url).origin === location.origin) event.respondWith(answer(event.request));
});

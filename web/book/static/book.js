// Pages that were visited open again without the server (see sw.js).
const root = new URL("..", document.currentScript.src);
navigator.serviceWorker?.register(new URL("sw.js", root)).catch(() => null);

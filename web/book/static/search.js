// The search page: Pagefind reads its index here in the browser and fetches only the parts that a query needs.
const root = new URL("../", import.meta.url);
const query = new URLSearchParams(location.search).get("q")?.trim() ?? "";
const list = document.getElementById("found"), count = document.getElementById("count");

// An excerpt of Pagefind is text with <mark> around what was found.
const plain = (excerpt) => new DOMParser().parseFromString(excerpt, "text/html").body.textContent;

function entry({ url, excerpt, meta }) {
  const item = document.createElement("li"), link = document.createElement("a"), text = document.createElement("p");
  link.href = url;
  link.textContent = meta.title;
  text.textContent = plain(excerpt);
  item.append(link, text);
  return item;
}

document.querySelector(".sidebar-search").value = query;
document.getElementById("query").value = query;
if (query) {
  const pagefind = await import(new URL("pagefind/pagefind.js", root));
  const { results } = await pagefind.search(query);
  const shown = await Promise.all(results.slice(0, 12).map((result) => result.data()));
  list.replaceChildren(...shown.map(entry));
  count.textContent = `${results.length} ${results.length === 1 ? "page" : "pages"} for “${query}”`;
}

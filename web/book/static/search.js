// The search page: Pagefind reads its index here in the browser and fetches only the parts that a query needs.
const root = new URL("../", import.meta.url);
const query = new URLSearchParams(location.search).get("q")?.trim() ?? "";
const list = document.getElementById("found"), count = document.getElementById("count");

// An excerpt of Pagefind is text with <mark> around what was found; nothing else of it becomes an element.
function marked(excerpt) {
  const parts = new DOMParser().parseFromString(excerpt, "text/html").body.childNodes;
  return [...parts].map((part) => (part.nodeName === "MARK" ? Object.assign(document.createElement("mark"), { textContent: part.textContent }) : part.textContent));
}

// The section of the page that holds most of what was found; a word in a heading counts more.
const found = ({ weighted_locations: all }) => all.reduce((sum, { balanced_score: score }) => sum + score, 0);
const section = ({ sub_results: parts }) => parts.reduce((a, b) => (found(b) > found(a) ? b : a));

function entry(page) {
  const best = section(page), item = document.createElement("li"), link = document.createElement("a"), text = document.createElement("p");
  link.href = best.url;
  link.textContent = best.title === page.meta.title ? best.title : `${page.meta.title} › ${best.title}`;
  text.append(...marked(best.excerpt));
  item.append(link, text);
  return item;
}

const LISTED = 12;

// Pages with all words; if there are none, those with most of them.
async function search(pagefind, query) {
  const { results } = await pagefind.search(query), words = query.split(/\s+/);
  if (results.length || words.length < 2) return results;
  const pages = new Map();
  for (const word of words) {
    for (const one of (await pagefind.search(word)).results) {
      const { score = 0, times = 0 } = pages.get(one.id) ?? {};
      pages.set(one.id, { ...one, score: score + one.score, times: times + 1 });
    }
  }
  return [...pages.values()].sort((a, b) => b.times - a.times || b.score - a.score);
}

document.querySelector(".sidebar-search").value = query;
document.getElementById("query").value = query;
if (query) {
  count.textContent = "Searching …";
  try {
    const pagefind = await import(new URL("pagefind/pagefind.js", root));
    const results = await search(pagefind, query), best = results.slice(0, LISTED);
    list.replaceChildren(...(await Promise.all(best.map((result) => result.data()))).map(entry));
    const rest = results.length > LISTED ? `; the best ${LISTED} are listed` : "";
    count.textContent = `${results.length} ${results.length === 1 ? "page" : "pages"} for “${query}”${rest}`;
  } catch {
    count.textContent = "The index of words could not be loaded. Is the server running?";
  }
}

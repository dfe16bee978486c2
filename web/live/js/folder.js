// The files of a folder that a visitor drops on the page or chooses. They are handed to the worker and go nowhere else.

const WANTED = ["config.json", "vocab.txt", "tokenizer.json", "tokenizer_config.json", "model.safetensors"];

// A folder may lie in the folder that was dropped: what counts are the files beside the topmost config.json.
export function wanted(files) {
  const path = (file) => file.path ?? file.webkitRelativePath ?? "", folder = (file) => path(file).split("/").slice(0, -1).join("/");
  const all = [...files].filter(({ name }) => WANTED.includes(name)), depth = (file) => path(file).split("/").length;
  const [config] = all.filter(({ name }) => name === "config.json").sort((a, b) => depth(a) - depth(b));
  return all.filter((file) => config && folder(file) === folder(config));
}

const list = (reader) => new Promise((resolve, reject) => reader.readEntries(resolve, reject));

async function inside(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [Object.assign(file, { path: entry.fullPath })];
  }
  const reader = entry.createReader(), found = [];
  for (let some = await list(reader); some.length; some = await list(reader)) found.push(...some); // a hundred at a time
  return (await Promise.all(found.filter((one) => one.isDirectory || WANTED.includes(one.name)).map(inside))).flat();
}

export async function dropped({ items, files }) {
  const entries = [...items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  return wanted(entries.length ? (await Promise.all(entries.map(inside))).flat() : files);
}

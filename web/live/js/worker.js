// One model in a thread of its own. Messages: {id, call: one of `calls`, about} -> {id, result} or {id, refused}.

import { checkConfig, engines, Model } from "./model.js";
import { Refusal, refuse } from "./refuse.js";

const STORE = "bertlab-weights"; // kept by the browser: a second visit loads nothing
let model;

// The bytes of a response, with progress on the way.
async function received(response) {
  const chunks = [], total = Number(response.headers.get("content-length"));
  let got = 0;
  for (const reader = response.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    got += value.length;
    postMessage({ progress: { got, total } });
  }
  return new Blob(chunks).arrayBuffer();
}

async function fetched(url) {
  const response = await fetch(url).catch(() => null);
  if (!response?.ok) refuse("notThere", new URL(url).pathname);
  return response;
}

// Without a secure address a browser has no caches: then each visit loads anew.
async function keptWeights(url) {
  const store = await globalThis.caches?.open(STORE).catch(() => null);
  const kept = await store?.match(url);
  if (kept) return kept.arrayBuffer();
  const bytes = await received(await fetched(url));
  await store?.put(url, new Response(bytes)).catch(() => null); // a full disk keeps nothing, and nothing is lost
  return bytes;
}

const json = (text, name) => {
  try {
    return JSON.parse(text);
  } catch {
    return refuse("notJson", name);
  }
};

// The files of a folder, at an address or as a visitor chose them: name -> its text, or null.
async function fromAddress(address, version) {
  const text = async (name) => (await fetched(`${address}${name}?${version}`)).text();
  const [config, vocabulary, options, weights] = await Promise.all([
    text("config.json"), text("vocab.txt"), text("tokenizer_config.json"), keptWeights(`${address}model.safetensors?${version}`),
  ]);
  return { config: json(config, "config.json"), vocabulary, options: json(options, "tokenizer_config.json"), weights };
}

// An adapter of the model that is open: what the library peft writes, and the config of the task.
async function fetchedAdapter({ address, version }) {
  const options = async (name) => (await fetched(`${address}${name}?${version}`)).json();
  const [config, adapter, weights] = await Promise.all([
    options("config.json"), options("adapter_config.json"), keptWeights(`${address}adapter_model.safetensors?${version}`),
  ]);
  return { config, adapter, weights };
}

// The vocabulary and the options in tokenizer.json, all that transformers writes since version 5.
function inOneFile({ model, normalizer }, options) {
  if (model?.type !== "WordPiece") refuse("otherTokenizer", model?.type ?? "?");
  const tokens = [];
  for (const [token, id] of Object.entries(model.vocab)) tokens[id] = token;
  const { lowercase = true, strip_accents = null } = normalizer ?? {};
  return { vocabulary: tokens.join("\n"), options: { do_lower_case: lowercase, strip_accents, ...options } };
}

async function fromFiles(files) {
  const file = (name) => files.find((one) => one.name === name) ?? refuse("noFile", name);
  const has = (name) => files.some((one) => one.name === name), read = async (name) => json(await file(name).text(), name);
  const config = await read("config.json");
  checkConfig(config); // before a file is missed that only a BERT has
  const options = has("tokenizer_config.json") ? await read("tokenizer_config.json") : {};
  const alone = !has("vocab.txt") && has("tokenizer.json");
  return {
    config,
    ...(alone ? inOneFile(await read("tokenizer.json"), options) : { vocabulary: await file("vocab.txt").text(), options }),
    weights: await file("model.safetensors").arrayBuffer(),
  };
}

const calls = {
  async open({ address, version, files }) {
    const folder = await (files ? fromFiles(files) : fromAddress(address, version));
    const kernel = await (await fetched(new URL("product.wasm", import.meta.url))).arrayBuffer();
    model = new Model(folder, await engines(folder.config, kernel));
    const { num_hidden_layers: layers, num_attention_heads: heads } = folder.config;
    return { layers, heads, guessing: model.guessing };
  },
  answer: (runs) => runs.map((run) => model.answer(run)),
  async solve({ sibling, runs }) {
    if (model.taught?.task !== sibling.task) model.learn(sibling.task, await fetchedAdapter(sibling));
    return runs.map((run) => model.solve(run));
  },
};

onmessage = async ({ data: { id, call, about } }) => {
  try {
    postMessage({ id, result: await calls[call](about) });
  } catch (error) {
    const { code, about } = error instanceof Refusal ? error : { code: "broken", about: error.message };
    postMessage({ id, refused: { code, about } });
  }
};

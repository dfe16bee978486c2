// One model in a thread of its own. Messages: {id, call: one of `calls`, about} -> {id, result} or {id, refused}.

import { checkConfig, engines, Model } from "./model.js";
import { Refusal, refuse } from "./refuse.js";
import { NAMES } from "./tokenizer.js";

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

const BERTS = /^((Distil|Mobile|Squeeze)?Bert|Electra|LayoutLM|Splinter)Tokenizer(Fast)?$/; // cut as BERT does, by their options
const AS_IT_STANDS = /^(PreTrainedTokenizerFast|TokenizersBackend)$/; // as tokenizer.json says

// The vocabulary and the options in tokenizer.json, all that transformers writes since version 5.
function inOneFile({ model, normalizer }) {
  if (model?.type !== "WordPiece") refuse("otherTokenizer", model?.type ?? "?");
  if (normalizer?.type !== "BertNormalizer") refuse("otherTokenizer", normalizer?.type ?? "?");
  const tokens = [];
  for (const [token, id] of Object.entries(model.vocab)) tokens[id] = token;
  const { lowercase: do_lower_case, strip_accents, handle_chinese_chars: tokenize_chinese_chars } = normalizer;
  return { vocabulary: tokens.join("\n"), options: { do_lower_case, strip_accents, tokenize_chinese_chars } };
}

function checkAdded(tokens) {
  const further = tokens.find(({ content }) => !NAMES.includes(content));
  if (further) refuse("addedToken", further.content);
}

// vocab.txt does not say whether letters become small: it needs tokenizer_config.json.
async function tokenizerOf(config, { has, text, read }) {
  const one = has("tokenizer.json") ? await read("tokenizer.json") : null;
  const options = one && !has("tokenizer_config.json") ? null : await read("tokenizer_config.json");
  const kind = options?.tokenizer_class ?? config.tokenizer_class ?? "BertTokenizer";
  if (!BERTS.test(kind) && !AS_IT_STANDS.test(kind)) refuse("otherTokenizer", kind);
  checkAdded([...Object.values(options?.added_tokens_decoder ?? {}), ...(one?.added_tokens ?? [])]);
  const found = one ? inOneFile(one) : { vocabulary: await text("vocab.txt"), options };
  return options && BERTS.test(kind) ? { ...found, options } : found;
}

async function fromFiles(files) {
  const file = (name) => files.find((one) => one.name === name) ?? refuse("noFile", name);
  const has = (name) => files.some((one) => one.name === name), text = (name) => file(name).text();
  const read = async (name) => json(await text(name), name), config = await read("config.json");
  checkConfig(config); // before a file is missed that only a BERT has
  return { config, ...(await tokenizerOf(config, { has, text, read })), weights: await file("model.safetensors").arrayBuffer() };
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

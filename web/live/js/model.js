// A model opened from the files of a Hugging Face folder, and what it answers to a text. Runs in the worker.

import { Bert, likeliest } from "./bert.js";
import { adapted } from "./lora.js";
import { plain, simd } from "./product.js";
import { refuse } from "./refuse.js";
import { readSafetensors } from "./safetensors.js";
import { TASKS } from "./tasks.js";
import { Tokenizer } from "./tokenizer.js";

const LONGEST = 128; // tokens of a text: beyond that an answer takes seconds
const PASSAGE = 256; // tokens of a question and its passage
const MASKS = 8; // as many [MASK] are answered
const KNOWN = 200; // guesses whose probabilities are kept
const SHOWN = 3; // guesses after each layer

export function checkConfig(config) {
  const kind = config.model_type ?? "bert"; // the first BERTs do not say it
  if (kind !== "bert" || config.is_decoder) refuse("notBert", kind);
  if ((config.hidden_act ?? "gelu") !== "gelu") refuse("otherActivation", config.hidden_act);
  if ((config.position_embedding_type ?? "absolute") !== "absolute") refuse("otherPositions", config.position_embedding_type);
}

// Returns a function that makes an engine: the SIMD kernel of product.wasm, or plain JavaScript where a browser has none or
// the model's sizes do not fit it.
export async function engines(config, kernel) {
  if (config.hidden_size % 4 || config.intermediate_size % 4) return () => plain;
  return WebAssembly.compile(kernel).then((module) => () => simd(module), () => () => plain);
}

// Whole numbers below 65,536, always the same ones: the control is the same for everybody (xorshift32).
function numbers(seed) {
  return () => {
    seed ^= seed << 13;
    seed ^= seed >>> 17;
    seed ^= seed << 5;
    return seed >>> 16;
  };
}

// A normal distribution: picks from 65,536 numbers that Box and Muller's formula drew.
function normal() {
  const draw = numbers(1), uniform = () => (draw() + 1) / 65536;
  const drawn = Float32Array.from({ length: 65536 }, () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()));
  return () => drawn[draw()];
}

// Weights as BERT's training begins: LayerNorm 1, biases 0, all else normal.
function randomWeights(shapes, room, deviation) {
  const place = room(Object.values(shapes)), draw = normal();
  return Object.fromEntries(Object.entries(shapes).map(([name, shape]) => {
    const tensor = place(shape);
    if (name.endsWith("bias")) tensor.fill(0);
    else if (name.endsWith("LayerNorm.weight")) tensor.fill(1);
    else for (let i = 0; i < tensor.length; i++) tensor[i] = deviation * draw();
    return [name, tensor];
  }));
}

export class Model {
  // files: {config, vocabulary, options (of the tokenizer), weights (an ArrayBuffer)}; `engine` makes one as in product.js
  constructor({ config, vocabulary, options, weights }, engine) {
    checkConfig(config);
    this.config = { layer_norm_eps: 1e-12, initializer_range: 0.02, type_vocab_size: 2, ...config };
    this.tokenizer = new Tokenizer(vocabulary, options);
    if (this.tokenizer.tokens.length > config.vocab_size) refuse("otherSize", "vocab.txt");
    const { room, product } = engine(), { weights: trained, shapes } = readSafetensors(weights, room);
    this.bert = new Bert(this.config, trained, product);
    this.guessing = "cls.predictions.bias" in trained;
    const { states } = this.bert.forward([0]); // a tensor that is missing is missed now
    if (this.guessing) this.bert.guesses(states.at(-1), [0]);
    this.learn = (task, { config, adapter, weights }) => { // one task at a time: each has an encoder of its own
      this.taught = { task, config, ...adapted(this.bert, shapes, adapter, weights, engine()) };
    };
    this.untrained = () => {
      const { room, product } = engine();
      return new Bert(this.config, randomWeights(shapes, room, this.config.initializer_range), product);
    };
  }

  // The control: the same shapes, weights never trained. Made when it is first asked for.
  get random() {
    return (this.control ??= this.untrained());
  }

  // What the page shows of one run: {text, off: heads switched off, random, layers: guesses after each layer too}.
  answer({ text, off = [], random = false, layers = false }) {
    const bert = random ? this.random : this.bert;
    const limit = Math.min(LONGEST, this.config.max_position_embeddings);
    const { tokens, ids, cut } = this.tokenizer.encode(text, limit);
    const { states, attentions } = bert.forward(ids, { off });
    const masked = this.guessing ? ids.flatMap((id, s) => (id === this.tokenizer.mask ? [s] : [])).slice(0, MASKS) : [];
    const best = (state, k) => (masked.length ? bert.guesses(state, masked) : []).map((p) => this.named(likeliest(p, k)));
    const known = best(states.at(-1), KNOWN), after = layers ? states.map((state) => best(state, SHOWN)) : []; // [layer][mask]
    const fills = masked.map((position, m) => ({ position, known: known[m], layers: after.map((guesses) => guesses[m]) }));
    return { tokens, cut, attentions, fills };
  }

  // What the task that was learned makes of a text: {text, question, random: the control, its head on random weights}.
  solve({ text, question = null, random = false }) {
    const { task, bert, head, config } = this.taught, read = this.tokenizer.encode(text, question === null ? LONGEST : PASSAGE, question);
    const { states } = (random ? this.random : bert).forward(read.ids, { second: read.second });
    return { ...TASKS[task](states.at(-1), head, config, { ...read, text }), cut: read.cut, unknown: read.tokens.includes("[UNK]") };
  }

  named(guesses) {
    return guesses.map(({ id, p }) => [this.tokenizer.tokens[id], p]);
  }
}

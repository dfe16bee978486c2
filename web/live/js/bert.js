// BERT (Devlin et al. 2019), top to bottom, in plain JavaScript. One text at a time, so there is no padding.
// Letters of shapes: S tokens, H hidden, A heads of D = H / A numbers, F feed-forward, L layers, V words of the vocabulary,
// M masked positions. A matrix (S, H) is one Float32Array of S * H numbers, row by row.

import { refuse } from "./refuse.js";

const add = (x, y) => x.map((value, i) => value + y[i]);

function rows(x, positions, H) { // (S, H) -> (M, H)
  const kept = new Float32Array(positions.length * H);
  positions.forEach((s, m) => kept.set(x.subarray(s * H, s * H + H), m * H));
  return kept;
}

// The error function to 1.2e-7 (Numerical Recipes, erfcc).
const ERF = [
  -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806,
  0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277,
];
function erf(x) {
  const t = 1 / (1 + 0.5 * Math.abs(x));
  const rest = t * Math.exp(-x * x + ERF.reduceRight((sum, factor) => sum * t + factor, 0));
  return x < 0 ? rest - 1 : 1 - rest;
}
const gelu = (x) => x.map((value) => 0.5 * value * (1 + erf(value * Math.SQRT1_2)));

// In place: logits (S,) from `at` on become probabilities.
export function softmax(x, at, S) {
  let largest = -Infinity, sum = 0;
  for (let j = at; j < at + S; j++) largest = Math.max(largest, x[j]);
  for (let j = at; j < at + S; j++) sum += x[j] = Math.exp(x[j] - largest);
  for (let j = at; j < at + S; j++) x[j] /= sum;
}

export class Bert {
  constructor(config, weights, product) {
    this.config = config;
    this.weights = weights;
    this.product = product;
    this.prefix = "bert.embeddings.word_embeddings.weight" in weights ? "bert." : "";
  }

  weight(name, size) { // so many numbers by config.json
    const weight = this.weights[name] ?? refuse("noTensor", name);
    return weight.length === size ? weight : refuse("otherSize", name);
  }

  linear(x, name, K, N) { // (S, K) -> (S, N)
    const weight = this.weight(`${name}.weight`, K * N), bias = this.weight(`${name}.bias`, N);
    return this.product(x, x.length / K, K, weight, bias, N);
  }

  norm(x, name) { // each row (H,): mean 0 and variance 1, then times weight plus bias
    const { hidden_size: H, layer_norm_eps: epsilon } = this.config, y = new Float32Array(x.length);
    const weight = this.weight(`${name}.weight`, H), bias = this.weight(`${name}.bias`, H);
    for (let at = 0; at < x.length; at += H) {
      let mean = 0, variance = 0;
      for (let i = 0; i < H; i++) mean += x[at + i] / H;
      for (let i = 0; i < H; i++) variance += (x[at + i] - mean) ** 2 / H;
      const scale = 1 / Math.sqrt(variance + epsilon);
      for (let i = 0; i < H; i++) y[at + i] = (x[at + i] - mean) * scale * weight[i] + bias[i];
    }
    return y;
  }

  embeddings(ids, second) { // (S,) -> (S, H): the token, its position, and its segment: of two from position `second` on
    const { hidden_size: H, vocab_size: V, max_position_embeddings: P, type_vocab_size: T } = this.config;
    const name = `${this.prefix}embeddings`, x = new Float32Array(ids.length * H);
    const table = (kind, rows) => this.weight(`${name}.${kind}_embeddings.weight`, rows * H);
    const token = table("word", V), position = table("position", P), segment = table("token_type", T);
    ids.forEach((id, s) => {
      const row = s < second ? 0 : H;
      for (let i = 0; i < H; i++) x[s * H + i] = token[id * H + i] + position[s * H + i] + segment[row + i];
    });
    return this.norm(x, `${name}.LayerNorm`);
  }

  // (S, H) -> (S, H), and the weights of each head: A x (S, S). Heads in `off` add nothing.
  attention(x, name, off) {
    const { hidden_size: H, num_attention_heads: A } = this.config, S = x.length / H, D = H / A;
    const projected = (part) => this.linear(x, `${name}.self.${part}`, H, H);
    const query = projected("query"), key = projected("key"), value = projected("value");
    const context = new Float32Array(S * H), weights = [];
    for (let head = 0; head < A; head++) {
      const w = new Float32Array(S * S), at = head * D;
      for (let i = 0; i < S; i++) {
        for (let j = 0; j < S; j++) {
          let dot = 0;
          for (let d = at; d < at + D; d++) dot += query[i * H + d] * key[j * H + d];
          w[i * S + j] = dot / Math.sqrt(D);
        }
        softmax(w, i * S, S);
        if (off.has(head)) continue;
        for (let j = 0; j < S; j++) {
          for (let d = at; d < at + D; d++) context[i * H + d] += w[i * S + j] * value[j * H + d];
        }
      }
      weights.push(w);
    }
    return { context: this.linear(context, `${name}.output.dense`, H, H), weights };
  }

  layer(x, name, off) {
    const { hidden_size: H, intermediate_size: F } = this.config;
    const { context, weights } = this.attention(x, `${name}.attention`, off);
    const mixed = this.norm(add(x, context), `${name}.attention.output.LayerNorm`); // residual connection, LayerNorm
    const inner = gelu(this.linear(mixed, `${name}.intermediate.dense`, H, F));
    const out = this.linear(inner, `${name}.output.dense`, F, H);
    return { x: this.norm(add(mixed, out), `${name}.output.LayerNorm`), weights };
  }

  // ids (S,) -> states: L + 1 x (S, H), the first the embeddings; attentions: L * A x (S, S).
  // `off` holds heads as "layer-head", counted from 0; a second segment begins at position `second`.
  forward(ids, { off = [], second = ids.length } = {}) {
    const { num_hidden_layers: L, num_attention_heads: A } = this.config, every = [...Array(A).keys()];
    const states = [this.embeddings(ids, second)], attentions = [];
    for (let l = 0; l < L; l++) {
      const silent = new Set(every.filter((head) => off.includes(`${l}-${head}`)));
      const { x, weights } = this.layer(states.at(-1), `${this.prefix}encoder.layer.${l}`, silent);
      states.push(x);
      attentions.push(...weights);
    }
    return { states, attentions };
  }

  // The masked-word head: state (S, H) at M positions -> M x probabilities (V,).
  guesses(state, positions) {
    const { hidden_size: H, vocab_size: V } = this.config, name = "cls.predictions", M = positions.length;
    const inner = gelu(this.linear(rows(state, positions, H), `${name}.transform.dense`, H, H));
    const x = this.norm(inner, `${name}.transform.LayerNorm`);
    const own = `${name}.decoder.weight`, tied = `${this.prefix}embeddings.word_embeddings.weight`; // the table of tokens
    const decoder = this.weight(own in this.weights ? own : tied, V * H);
    const logits = this.product(x, M, H, decoder, this.weight(`${name}.bias`, V), V);
    return positions.map((_, m) => {
      softmax(logits, m * V, V);
      return logits.subarray(m * V, m * V + V);
    });
  }
}

// The k likeliest of probabilities (V,), likeliest first: [{id, p}].
export function likeliest(p, k) {
  const least = p.slice().sort().at(-k) ?? 0;
  const ids = Array.from(p.keys()).filter((id) => p[id] >= least).sort((a, b) => p[b] - p[a]);
  return ids.slice(0, k).map((id) => ({ id, p: p[id] }));
}

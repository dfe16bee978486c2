// What siblings of `english` were taught: each reads the last states with a head of its own, and its logits become an answer.

import { softmax } from "./bert.js";
import { plain } from "./product.js";

const ANSWER = 30; // tokens of an answer at most
const SHOWN = 5; // answers

// A linear layer of the head: x (S, H) -> S rows of N logits.
function linear(x, head, name, H) {
  const bias = head[`${name}.bias`], N = bias.length, y = plain.product(x, x.length / H, H, head[`${name}.weight`], bias, N);
  return Array.from({ length: x.length / H }, (_, s) => y.subarray(s * N, s * N + N));
}

// The pooler reads [CLS]; a class gets a probability.
function opinion(x, head, { hidden_size: H, id2label }) {
  const [pooled] = linear(x.subarray(0, H), head, "bert.pooler.dense", H), [logits] = linear(pooled.map(Math.tanh), head, "classifier", H);
  softmax(logits, 0, logits.length);
  return { classes: Array.from(logits, (p, i) => [id2label[i], p]).sort((a, b) => b[1] - a[1]) };
}

// Each word is labelled by its first token. B-x begins a name of the kind x, I-x goes on with it, O is none.
function names(x, head, { hidden_size: H, id2label }, { words }) {
  const logits = linear(x, head, "classifier", H), found = [];
  let open = null;
  for (const { start, end, first } of words) {
    const [mark, kind] = id2label[logits[first].indexOf(Math.max(...logits[first]))].split("-");
    if (open && mark === "I" && kind === open.kind) open.end = end;
    else if ((open = kind ? { kind, start, end } : null)) found.push(open);
  }
  return { found };
}

// All spans of whole words, and "no answer", share out one softmax: a span has its start logit plus its end logit, "no answer"
// those of [CLS] less the threshold. Spans with one text count together.
function answers(x, head, { hidden_size: H, no_answer_threshold: threshold }, { words, text }) {
  const logits = linear(x, head, "qa_outputs", H), none = logits[0][0] + logits[0][1] - threshold;
  const spans = words.flatMap(({ start, first }, i) => words.slice(i, i + ANSWER).filter(({ last }) => last < first + ANSWER)
    .map(({ end, last }) => ({ start, end, score: logits[first][0] + logits[last][1] })));
  const scores = Float64Array.of(none, ...spans.map(({ score }) => score));
  softmax(scores, 0, scores.length);
  const shares = new Map([["", scores[0]]]);
  spans.forEach(({ start, end }, i) => {
    const words = text.slice(start, end);
    shares.set(words, (shares.get(words) ?? 0) + scores[i + 1]);
  });
  const likeliest = [...shares].sort((a, b) => b[1] - a[1]), [[first]] = likeliest;
  const [best = null] = spans.filter(({ start, end }) => text.slice(start, end) === first).sort((a, b) => b.score - a.score);
  return { answers: likeliest.slice(0, SHOWN), best }; // best: where the first of them stands
}

export const TASKS = { opinion, names, answers };

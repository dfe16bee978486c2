// LoRA (Hu et al. 2021): a task changes each matrix W (N, K) of the layers by a product of two thin ones, scale * B A.

import { Bert } from "./bert.js";
import { plain } from "./product.js";
import { readSafetensors } from "./safetensors.js";

const PREFIX = /^base_model\.model\./; // of every name in the file that the library peft writes

// In place: W (N, K) + scale * B (N, R) · A (R, K).
function change(W, A, B, scale) {
  const K = (W.length * A.length / B.length) ** 0.5, R = A.length / K; // W has N K numbers, A R K, B N R
  for (let n = 0; n < W.length / K; n++) {
    for (let r = 0; r < R; r++) {
      const factor = scale * B[n * R + r];
      for (let k = 0, i = n * K, j = r * K; k < K; k++) W[i + k] += factor * A[j + k];
    }
  }
}

// The encoder of `base` with the changes of an adapter, in memory of its own, and the head that the adapter brings.
// config: that of peft; buffer: adapter_model.safetensors.
export function adapted(base, shapes, { r, lora_alpha: alpha, use_rslora: rooted }, buffer, { room, product }) {
  const { weights: brought } = readSafetensors(buffer, plain.room), head = {}, weights = { ...base.weights };
  const names = Object.keys(weights).filter((name) => name.includes("encoder.layer."));
  const place = room(names.map((name) => shapes[name]));
  for (const name of names) (weights[name] = place(shapes[name])).set(base.weights[name]);
  for (const [name, tensor] of Object.entries(brought)) {
    const [own, pair] = name.replace(PREFIX, "").split(/\.lora_([AB])\.weight$/);
    if (!pair) head[own] = tensor;
    else if (pair === "A") change(weights[`${own}.weight`], tensor, brought[name.replace("lora_A", "lora_B")], alpha / (rooted ? r ** 0.5 : r));
  }
  return { bert: new Bert(base.config, weights, product), head };
}

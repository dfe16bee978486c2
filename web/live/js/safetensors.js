// Reads model.safetensors: 8 bytes with the length of a header, the header (JSON: name -> dtype, shape, place), the numbers.
// Weights may have 32, 16 or 8 bits. 8-bit ones are whole numbers; each group of 64 has a scale, in the tensor NAME.scale.

import { refuse } from "./refuse.js";

// float16 -> float32, by a table of all 65,536 of them: 1 bit of sign, 5 of exponent, 10 of fraction.
const HALF = Float32Array.from({ length: 1 << 16 }, (_, bits) => {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = (bits & 1023) / 1024;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction) : 2 ** -14 * fraction);
});

const COPY = { // the bytes of a tensor -> the numbers of `to`
  F32: (from, to) => to.set(new Float32Array(from)),
  F16: (from, to) => new Uint16Array(from).forEach((bits, i) => { to[i] = HALF[bits]; }),
  BF16: (from, to) => { // the upper half of a float32
    const words = new Uint32Array(to.buffer, to.byteOffset, to.length);
    new Uint16Array(from).forEach((bits, i) => { words[i] = bits << 16; });
  },
  I8: (from, to, scales) => new Int8Array(from).forEach((value, i) => { to[i] = value * HALF[scales[i >> 6]]; }),
};

// The header of a file: {name: {dtype, shape, data_offsets}}, and where the numbers begin.
function readHeader(buffer) {
  const length = buffer.byteLength < 8 ? Infinity : Number(new DataView(buffer).getBigUint64(0, true));
  if (8 + length > buffer.byteLength) refuse("notSafetensors");
  let entries;
  try {
    entries = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  } catch {
    refuse("notSafetensors");
  }
  delete entries.__metadata__;
  return { entries, start: 8 + length };
}

const modern = (name) => name.replace(/\.gamma$/, ".weight").replace(/\.beta$/, ".bias"); // as the first checkpoints call them

// Returns weights {name: Float32Array} and their shapes {name: [rows, columns]}. `room(shapes)` returns a function that hands
// out the place for each tensor.
export function readSafetensors(buffer, room) {
  const { entries, start } = readHeader(buffer);
  const bytes = (name) => {
    const [from, to] = entries[name]?.data_offsets ?? refuse("notSafetensors");
    return start + to <= buffer.byteLength ? buffer.slice(start + from, start + to) : refuse("notSafetensors");
  };
  const kept = Object.entries(entries).filter(([name, { dtype }]) => dtype in COPY && !name.endsWith(".scale"));
  const shapes = Object.fromEntries(kept.map(([name, { shape }]) => [modern(name), shape]));
  const place = room(Object.values(shapes)), weights = {};
  for (const [name, { dtype, shape }] of kept) {
    const scales = dtype === "I8" ? new Uint16Array(bytes(`${name}.scale`)) : null;
    COPY[dtype](bytes(name), (weights[modern(name)] = place(shape)), scales);
  }
  return { weights, shapes };
}

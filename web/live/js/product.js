// y (S, N) = x (S, K) · w (N, K)ᵀ + b (N): nearly all the work of a BERT. In plain JavaScript, and by product.wasm.
// An engine is { room, product }: `room` hands out the memory of the weights, `product` computes with them.

export const size = (shape) => shape.reduce((a, b) => a * b, 1);

export const plain = {
  room: () => (shape) => new Float32Array(size(shape)),
  product(x, S, K, w, b, N) {
    const y = new Float32Array(S * N);
    for (let n = 0; n < N; n++) {
      for (let s = 0; s < S; s++) {
        let even = 0, odd = 0; // two sums: the second need not wait for the first
        for (let k = 0, i = s * K, j = n * K; k < K; k += 2, i += 2, j += 2) {
          even += x[i] * w[j];
          odd += x[i + 1] * w[j + 1];
        }
        y[s * N + n] = even + odd + b[n];
      }
    }
    return y;
  },
};

const PAGE = 65536; // bytes: WebAssembly's memory grows by pages
const SCRATCH = 1 << 22; // numbers: room for x and y of one product

const four = (n) => Math.ceil(n / 4) * 4;
const rowsOfFour = ([rows, ...rest]) => four(rows) * size(rest); // the kernel computes four rows of w at a time

// All weights lie in the memory of the WebAssembly instance, once; x and y pass through the scratch behind them.
export function simd(module) {
  const { memory, product } = new WebAssembly.Instance(module).exports;
  let numbers, scratch;
  return {
    room(shapes) {
      let next = 0;
      scratch = shapes.reduce((sum, shape) => sum + rowsOfFour(shape), 0);
      memory.grow(Math.ceil(((scratch + SCRATCH) * 4) / PAGE));
      numbers = new Float32Array(memory.buffer);
      return (shape) => {
        const at = next;
        next += rowsOfFour(shape);
        return numbers.subarray(at, at + size(shape));
      };
    },
    product(x, S, K, w, b, N) {
      const wide = four(N), y = scratch + four(x.length), out = new Float32Array(S * N);
      numbers.set(x, scratch);
      product(scratch * 4, w.byteOffset, b.byteOffset, y * 4, S, K, wide);
      for (let s = 0; s < S; s++) out.set(numbers.subarray(y + s * wide, y + s * wide + N), s * N); // (S, wide) -> (S, N)
      return out;
    },
  };
}

// What the components share: colours, keys, elements, and redrawing at another width.

const CIVIDIS = ("00224e 002e6a 1a386f 32436d 434e6c 535a6d 61656f 6f7073 7d7c78 " +
  "8c8878 9b9476 aba072 bcae6c cdbb63 dec958 f0d846 fee838").split(" ");
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

// 256 colours, each one number as an ImageData holds it (red in the lowest byte).
const PALETTE = Uint32Array.from({ length: 256 }, (_, i) => {
  const at = (i / 255) * (CIVIDIS.length - 1), low = Math.min(Math.floor(at), CIVIDIS.length - 2);
  const channel = (hex, c) => parseInt(hex.slice(2 * c, 2 * c + 2), 16);
  const mixed = [0, 1, 2].map((c) => channel(CIVIDIS[low], c) * (low + 1 - at) + channel(CIVIDIS[low + 1], c) * (at - low));
  return ((255 << 24) | (mixed[2] << 16) | (mixed[1] << 8) | mixed[0]) >>> 0;
});

const make = (tag, props = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), props);
  node.append(...children);
  return node;
};
const clamp = (value, count) => Math.max(0, Math.min(count - 1, value));

const followWidth = (root, draw) => {
  let width = root.clientWidth;
  root.resizeWatch?.disconnect();
  root.resizeWatch = new ResizeObserver(() => {
    if (Math.abs(root.clientWidth - width) < 24) return;
    width = root.clientWidth;
    draw();
  });
  root.resizeWatch.observe(root);
};

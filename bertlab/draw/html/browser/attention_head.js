// One attention head in full: as a matrix, as arcs, and as bars of the roles it plays. See attention.js.

const share = (byte) => (byte / 255).toFixed(2);

// One head as a reader sees it: the tokens kept (all, or those that are not special) and their weights in bytes.
const seen = (weights, at, tokens, keep, special) => {
  const weight = (row, column) => weights[at + keep[row] * tokens.length + keep[column]];
  const token = (row) => `“${tokens[keep[row]]}”`;
  const pair = (row, column) => `${token(row)} attends to ${token(column)} with weight ${share(weight(row, column))}`;
  // Most heads rest on [CLS] or [SEP]: what they do among words says more.
  const words = [...keep.keys()].filter((i) => !special[keep[i]]), searched = words.length ? words : [...keep.keys()];
  let most = [searched[0], searched[0]];
  for (const row of searched) for (const column of searched) if (weight(row, column) > weight(...most)) most = [row, column];
  const loudest = keep.length ? `Strongest${words.length ? " between words" : ""}: ${pair(...most)}.` : "No token is left to show.";
  return { weight, token, pair, loudest, names: Array.from(keep, (i) => tokens[i]) };
};

// Paint n x n weights into at most `size` x `size` pixels: where tokens share a pixel, the strongest shows.
// `top` is the byte that is brightest, or 0 to give each row its own. One ImageData serves all thumbnails.
let sheet;
const paint = (canvas, weights, at, count, keep, top, size = 4096) => {
  const n = Math.max(keep.length, 1), side = Math.min(n, size), pen = canvas.getContext("2d");
  if (canvas.width !== side || canvas.height !== side) canvas.width = canvas.height = side;
  if (sheet?.width !== side) sheet = new ImageData(side, side);
  const bytes = new Uint8Array(side * side);
  for (let row = 0; row < keep.length; row++) {
    const from = at + keep[row] * count, line = Math.floor((row * side) / n) * side;
    let most = top;
    if (!top) for (const j of keep) most = Math.max(most, weights[from + j]);
    for (let column = 0; column < keep.length; column++) {
      const byte = Math.min(255, (255 * weights[from + keep[column]]) / (most || 1));
      const place = line + Math.floor((column * side) / n);
      if (byte > bytes[place]) bytes[place] = byte;
    }
  }
  const pixels = new Uint32Array(sheet.data.buffer);
  for (let i = 0; i < bytes.length; i++) pixels[i] = PALETTE[bytes[i]];
  pen.putImageData(sheet, 0, 0);
};

// Rows attend, columns are attended to. `say` describes the cell under the mouse, a finger or the arrow keys.
const matrix = (head, title, room, draw, say) => {
  const n = head.names.length, longest = Math.min(130, 8 * Math.max(2, ...head.names.map((name) => name.length)));
  const cell = Math.max(11, Math.min(34, Math.floor((room - longest - 16) / Math.max(n, 1))));
  const letters = Math.max(11, Math.min(14, cell - 3));
  const canvas = make("canvas", { style: `width:${cell * n}px;height:${cell * n}px` });
  draw(canvas);
  const label = (name) => make("b", { textContent: name, title: name, dir: "auto" });
  const rows = make("div", { className: "rows" }, ...head.names.map(label));
  const cols = make("div", { className: "cols" }, ...head.names.map(label));
  rows.style.cssText = `grid-auto-rows:${cell}px;font-size:${letters}px`;
  cols.style.cssText = `grid-auto-columns:${cell}px;font-size:${letters}px`;
  const cursor = make("div", { className: "cursor", style: `width:${cell}px;height:${cell}px` });
  const cells = make("div", { className: "cells" }, canvas, cursor);
  let spot = [0, 0];
  const mark = (on) => [rows, cols].forEach((list, k) => list.children[spot[k]].classList.toggle("on", on));
  const point = (row, column) => {
    mark(false);
    spot = [row, column];
    mark(true);
    Object.assign(cursor.style, { display: "block", left: `${column * cell}px`, top: `${row * cell}px` });
    say(`${head.pair(row, column)}.`);
  };
  cells.onpointermove = cells.onpointerdown = (event) => {
    const { left, top } = cells.getBoundingClientRect();
    point(clamp(Math.floor((event.clientY - top) / cell), n), clamp(Math.floor((event.clientX - left) / cell), n));
  };
  const box = make("div", { className: "matrix", tabIndex: 0 }, make("i", { className: "corner" }), cols, rows, cells);
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", `Attention of ${title}. ${head.loudest} Arrow keys read single cells.`);
  box.onkeydown = (event) => {
    const move = MOVES[event.key];
    if (!move || !n) return;
    event.preventDefault();
    point(clamp(spot[0] + move[0], n), clamp(spot[1] + move[1], n));
  };
  return make("div", { className: "scroll" }, box);
};

const drawn = (tag, props, text) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const key in props) node.setAttribute(key, props[key]);
  if (text !== undefined) node.textContent = text;
  return node;
};

// Tokens twice, and a curve from each to each that it attends to: the larger the weight, the thicker.
const arcs = (head, title, room, say) => {
  const n = head.names.length, high = 27, text = Math.max(4, ...head.names.map((name) => name.length)) * 8.6 + 12;
  const gap = Math.max(110, Math.min(230, room - 2 * text - 24)), width = 2 * text + gap;
  const svg = drawn("svg", { width, height: high * n + 8, role: "img", "aria-label": `Arcs of ${title}. ${head.loudest}` });
  const y = (row) => high * row + 17;
  const curve = (row, column) => `M${text + 6},${y(row)} C${text + gap / 2},${y(row)} ${text + gap / 2},${y(column)} ${text + gap - 6},${y(column)}`;
  for (let row = 0; row < n; row++) for (let column = 0; column < n; column++) {
    const w = head.weight(row, column) / 255;
    if (w < 0.02) continue;
    svg.append(drawn("path", { d: curve(row, column), "data-from": row, style: `--o:${w};opacity:${w};stroke-width:${1 + 3 * w}` }));
  }
  const focus = (row) => {
    svg.classList.toggle("some", row !== null);
    svg.querySelectorAll("path").forEach((path) => path.classList.toggle("on", +path.dataset.from === row));
    if (row === null) return;
    const ranked = head.names.map((_, j) => j).filter((j) => head.weight(row, j) > 5);
    ranked.sort((a, b) => head.weight(row, b) - head.weight(row, a));
    const list = ranked.slice(0, 3).map((j) => `${head.token(j)} ${share(head.weight(row, j))}`);
    say(`${head.token(row)} attends to ${list.join(", ") || "nothing shown here"}.`);
  };
  head.names.forEach((name, row) => {
    const left = drawn("g", { tabindex: 0 });
    left.append(drawn("text", { x: text, y: y(row) + 5, "text-anchor": "end" }, name));
    left.onmouseenter = left.onfocus = () => focus(row);
    left.onmouseleave = left.onblur = () => focus(null);
    svg.append(left, drawn("text", { x: text + gap, y: y(row) + 5 }, name));
  });
  return make("div", { className: "scroll" }, svg);
};

// A bar for each role: the share of the weight that goes there, with random weights and uniform attention as ticks.
const roleBars = (names, scores, best, control, uniform) => {
  const tick = (value, className) => make("u", { className, style: `left:${100 * value}%` });
  const rows = names.flatMap((name, r) => {
    const score = scores[r], className = r === best ? "best" : "";
    const label = make("dt", { className, textContent: name });
    if (score === null) return [label, make("dd", { className: "muted", textContent: "this text cannot tell" }), make("dd")];
    const track = make("dd", { className: "track" }, make("i", { style: `width:${100 * score}%` }), tick(uniform[r], "even"));
    if (control) track.append(tick(control[r], ""));
    const random = control ? `, with random weights ${control[r].toFixed(2)}` : "";
    track.title = `${name} ${score.toFixed(2)}${random}, in uniform attention ${uniform[r].toFixed(2)}`;
    track.setAttribute("aria-label", track.title);
    return [label, track, make("dd", { className, textContent: score.toFixed(2) })];
  });
  const key = (className) => make("span", { className: "track key" }, make("u", { className }));
  const legend = make("p", { className: "muted", style: "margin:8px 0 0" }, "Share of the weight on such tokens, averaged over the words; some tokens are of several kinds, so the shares need not add up to 1. Broad: evenness, 1 is the same for all tokens.");
  if (control) legend.append(key(""), " random weights");
  legend.append(key("even"), " uniform attention");
  return [make("dl", {}, ...rows), legend];
};

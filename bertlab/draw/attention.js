// All attention heads of one text: a grid of thumbnails, and one head in full as a matrix or as arcs.
// mount(root, buffer, view, onView) is hosted by Streamlit and by anywidget (see canvas.py). Everything that
// a reader does is answered here; `onView` only reports which head is looked at.
//
// buffer: uint32 length of the header | header (JSON) | uint8 weights (M, L, A, S, S), 255 = 1.0,
// where M = 1, or 2 when the same heads of a random-weights model follow as the control.

const CIVIDIS = ("00224e 002e6a 1a386f 32436d 434e6c 535a6d 61656f 6f7073 7d7c78 " +
  "8c8878 9b9476 aba072 bcae6c cdbb63 dec958 f0d846 fee838").split(" ");
const ARC_LIMIT = 32;
const GAP = 40;

const CSS = `
.heads { --ink: var(--st-text-color, var(--jp-ui-font-color1, #222)); --line: var(--st-border-color, #8885);
  --accent: var(--st-primary-color, #0072b2); --paper: var(--st-background-color, var(--jp-layout-color0, #fff));
  color: var(--ink); font: 14px/1.45 var(--st-font, system-ui, sans-serif); }
.heads .bar { display: flex; flex-wrap: wrap; gap: 10px 26px; align-items: center; margin-bottom: 18px; }
.heads label { display: inline-flex; gap: 7px; align-items: center; cursor: pointer; }
.heads input { accent-color: var(--accent); margin: 0; }
.heads .two { display: flex; flex-wrap: wrap; gap: 28px ${GAP}px; align-items: flex-start; }
.heads .full { flex: 1 1 380px; min-width: 0; }
.heads h4 { font-size: 15px; font-weight: 600; margin: 0 0 10px; }
.heads p.muted { margin: -6px 0 12px; }
.heads .muted { opacity: .75; font-size: 13px; }
.heads .grid { display: grid; gap: 5px; align-items: center; justify-items: center; width: max-content; max-width: 100%; }
.heads .grid span { font-size: 12px; opacity: .75; padding: 0 4px; }
.heads .grid button { padding: 0; border: 0; background: none; line-height: 0; border-radius: 4px; cursor: pointer;
  outline: 2px solid transparent; outline-offset: 1px; }
.heads .grid button:hover { outline-color: var(--line); }
.heads .grid button[aria-pressed=true] { outline: 3px solid var(--accent); }
.heads button:focus-visible, .heads .matrix:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.heads canvas { image-rendering: pixelated; border-radius: 3px; display: block; }
.heads .scroll { overflow: auto; max-width: 100%; max-height: 760px; padding: 3px; }
.heads .matrix { display: grid; grid-template-columns: max-content max-content; width: max-content; outline: none; }
.heads .rows, .heads .cols { display: grid; white-space: pre; }
.heads .rows { text-align: right; padding-right: 7px; }
.heads .cols { grid-auto-flow: column; padding-bottom: 7px; }
.heads .cols b { writing-mode: vertical-rl; transform: rotate(180deg); }
.heads .rows b, .heads .cols b { font-weight: 400; display: flex; align-items: center; overflow: visible; }
.heads .rows b { justify-content: flex-end; }
.heads b.on { font-weight: 700; color: var(--accent); }
.heads .cells { position: relative; cursor: crosshair; }
.heads .cursor { position: absolute; box-sizing: border-box; border: 2px solid #fff; outline: 1.5px solid #000;
  pointer-events: none; display: none; }
.heads .said { min-height: 1.5em; margin: 12px 0 0; font-size: 15px; }
.heads .legend { display: flex; gap: 8px; align-items: center; font-size: 13px; margin-top: 18px; flex-wrap: wrap; max-width: 350px; }
.heads .ramp { width: 150px; height: 11px; border-radius: 3px; background: linear-gradient(90deg, ${CIVIDIS.map((c) => "#" + c)}); }
.heads svg text { fill: var(--ink); font-size: 14px; }
.heads svg path { stroke: var(--accent); fill: none; }
.heads svg g { cursor: pointer; }
.heads svg g:hover text, .heads svg g:focus text { font-weight: 700; }
.heads svg.some path { opacity: .04 !important; } .heads svg.some path.on { opacity: var(--o) !important; }
`;

const PALETTE = Array.from({ length: 256 }, (_, i) => {
  const at = (i / 255) * (CIVIDIS.length - 1), low = Math.min(Math.floor(at), CIVIDIS.length - 2);
  const channel = (hex, c) => parseInt(hex.slice(2 * c, 2 * c + 2), 16);
  return [0, 1, 2].map((c) => channel(CIVIDIS[low], c) * (low + 1 - at) + channel(CIVIDIS[low + 1], c) * (at - low));
});

const make = (tag, props = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), props);
  node.append(...children);
  return node;
};

const read = (buffer) => {
  const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
  const size = view.getUint32(0, true);
  const bytes = new Uint8Array(buffer.buffer, buffer.byteOffset + 4, size);
  const header = JSON.parse(new TextDecoder().decode(bytes));
  header.weights = new Uint8Array(buffer.buffer, buffer.byteOffset + 4 + size);
  return header;
};

export function mount(root, buffer, view, onView) {
  const data = read(buffer), S = data.tokens.length, special = data.tokens.map((t) => t === "[CLS]" || t === "[SEP]");
  const state = { layer: 0, head: 0, specials: true, control: false, arcs: false, own: false, ...data.view, ...view };
  state.layer = Math.min(state.layer, data.layers - 1);
  state.head = Math.min(state.head, data.heads - 1);
  const say = make("p", { className: "said" });
  say.setAttribute("aria-live", "polite");

  const shown = () => data.tokens.map((_, i) => i).filter((i) => state.specials || !special[i]);
  const offset = (layer, head) => (((state.control ? data.layers : 0) + layer) * data.heads + head) * S * S;
  const weight = (i, j, at = offset(state.layer, state.head)) => data.weights[at + i * S + j];
  const strongest = (from, to) => {
    const keep = shown();
    let most = 1;
    for (let at = from; at < to; at += S * S)
      for (const i of keep) for (const j of keep) most = Math.max(most, data.weights[at + i * S + j]);
    return most;
  };
  const name = (layer, head) => `layer ${layer + 1}, head ${head + 1}`;
  // One scale for the trained heads and their control: a dim control is a finding, not a lack of contrast.
  const top = () => (state.own
    ? strongest(offset(state.layer, state.head), offset(state.layer, state.head) + 1)
    : strongest(0, data.weights.length));

  const paint = (canvas, at, most) => {
    const keep = shown(), n = Math.max(keep.length, 1);
    canvas.width = canvas.height = n;
    const pen = canvas.getContext("2d"), image = pen.createImageData(n, n);
    keep.forEach((i, row) => keep.forEach((j, column) => {
      const colour = PALETTE[Math.min(255, Math.round((data.weights[at + i * S + j] / most) * 255))];
      image.data.set([...colour, 255], 4 * (row * n + column));
    }));
    pen.putImageData(image, 0, 0);
  };

  const option = (text, key, enabled = true) => {
    const box = make("input", { type: "checkbox", checked: state[key], disabled: !enabled });
    box.onchange = () => { state[key] = box.checked; drawAll(); tell(); };
    return make("label", {}, box, text);
  };

  const grid = make("div", { className: "grid" });
  grid.setAttribute("role", "group");
  grid.setAttribute("aria-label", "All attention heads; arrow keys move, one row per layer");
  const side = Math.max(22, Math.min(84, Math.floor(300 / data.heads) - 5));
  grid.style.gridTemplateColumns = `auto repeat(${data.heads}, auto)`;
  grid.append(make("span"), ...Array.from({ length: data.heads }, (_, a) => make("span", { textContent: a + 1 })));
  const buttons = Array.from({ length: data.layers }, (_, layer) => {
    grid.append(make("span", { textContent: data.heads > 8 ? layer + 1 : `Layer ${layer + 1}` }));
    return Array.from({ length: data.heads }, (_, head) => {
      const canvas = make("canvas", { style: `width:${side}px;height:${side}px` });
      const button = make("button", { type: "button", title: name(layer, head) }, canvas);
      button.setAttribute("aria-label", name(layer, head));
      button.onclick = () => choose(layer, head);
      button.onkeydown = (event) => step(event, layer, head);
      grid.append(button);
      return button;
    });
  });
  const step = (event, layer, head) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!move) return;
    event.preventDefault();
    const clamp = (value, most) => Math.max(0, Math.min(most - 1, value));
    choose(clamp(layer + move[0], data.layers), clamp(head + move[1], data.heads)).focus();
  };
  const choose = (layer, head) => {
    Object.assign(state, { layer, head });
    drawAll(!state.own);
    tell();
    return buttons[layer][head];
  };
  let timer;
  const tell = () => { clearTimeout(timer); timer = setTimeout(() => onView({ ...state }), 250); };

  const full = make("div", { className: "full" }), legend = make("div", { className: "legend" });
  const pair = (i, j) => `“${data.tokens[i]}” looks at “${data.tokens[j]}” with weight ${(weight(i, j) / 255).toFixed(2)}`;
  const loudest = () => {
    const keep = shown();
    let best = [keep[0], keep[0]];
    for (const i of keep) for (const j of keep) if (weight(i, j) > weight(...best)) best = [i, j];
    return keep.length ? `Strongest here: ${pair(...best)}.` : "No token is left to show.";
  };

  // Width for the full head: beside the grid where that leaves enough, else below it.
  const room = () => {
    const whole = root.clientWidth || 800, beside = whole - left.offsetWidth - GAP;
    return beside >= 380 ? beside : whole;
  };
  const labels = () => 24 + 8 * Math.max(...data.tokens.map((token) => token.length));

  const matrix = (most) => {
    const keep = shown(), cell = Math.max(11, Math.min(34, Math.floor((room() - labels()) / Math.max(keep.length, 1))));
    const canvas = make("canvas", { style: `width:${cell * keep.length}px;height:${cell * keep.length}px` });
    paint(canvas, offset(state.layer, state.head), most);
    const label = (i) => make("b", { textContent: data.tokens[i], dir: "auto" });
    const rows = make("div", { className: "rows" }, ...keep.map(label));
    const cols = make("div", { className: "cols" }, ...keep.map(label));
    rows.style.cssText = `grid-auto-rows:${cell}px;font-size:${Math.min(14, cell)}px`;
    cols.style.cssText = `grid-auto-columns:${cell}px;font-size:${Math.min(14, cell)}px`;
    const cursor = make("div", { className: "cursor", style: `width:${cell}px;height:${cell}px` });
    const cells = make("div", { className: "cells" }, canvas, cursor);
    let spot = [0, 0];
    const point = (row, column) => {
      spot = [row, column];
      Object.assign(cursor.style, { display: "block", left: `${column * cell}px`, top: `${row * cell}px` });
      [[rows, row], [cols, column]].forEach(([list, at]) =>
        [...list.children].forEach((node, i) => node.classList.toggle("on", i === at)));
      say.textContent = `${pair(keep[row], keep[column])}.`;
    };
    const limit = (value) => Math.max(0, Math.min(keep.length - 1, value));
    cells.onmousemove = (event) => point(limit(Math.floor(event.offsetY / cell)), limit(Math.floor(event.offsetX / cell)));
    const box = make("div", { className: "matrix", tabIndex: 0 }, make("i"), cols, rows, cells);
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", `Attention of ${name(state.layer, state.head)}. ${loudest()} Arrow keys read single cells.`);
    box.onkeydown = (event) => {
      const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!move || !keep.length) return;
      event.preventDefault();
      point(limit(spot[0] + move[0]), limit(spot[1] + move[1]));
    };
    return make("div", { className: "scroll" }, box);
  };

  const arcs = () => {
    const keep = shown(), high = 27, most = Math.max(...keep.map((i) => data.tokens[i].length), 4) * 8.6 + 12;
    const draw = (tag, props, text) => {
      const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const key in props) node.setAttribute(key, props[key]);
      if (text !== undefined) node.textContent = text;
      return node;
    };
    const width = 2 * most + 230, svg = draw("svg", { width, height: high * keep.length + 8, role: "img",
      "aria-label": `Arcs of ${name(state.layer, state.head)}. ${loudest()}` });
    const y = (row) => high * row + 17;
    keep.forEach((i, row) => keep.forEach((j, column) => {
      const w = weight(i, j) / 255;
      if (w < 0.02) return;
      const d = `M${most + 6},${y(row)} C${most + 110},${y(row)} ${most + 120},${y(column)} ${most + 224},${y(column)}`;
      svg.append(draw("path", { d, "data-from": row, style: `--o:${w};opacity:${w};stroke-width:${1 + 3 * w}` }));
    }));
    const focus = (row) => {
      svg.classList.toggle("some", row !== null);
      svg.querySelectorAll("path").forEach((path) => path.classList.toggle("on", +path.dataset.from === row));
      if (row === null) return;
      const ranked = keep.filter((j) => weight(keep[row], j) > 5).sort((a, b) => weight(keep[row], b) - weight(keep[row], a));
      const list = ranked.slice(0, 3).map((j) => `“${data.tokens[j]}” ${(weight(keep[row], j) / 255).toFixed(2)}`);
      say.textContent = `“${data.tokens[keep[row]]}” looks at ${list.join(", ") || "nothing shown here"}.`;
    };
    keep.forEach((i, row) => {
      const left = draw("g", { tabindex: 0 });
      left.append(draw("text", { x: most, y: y(row) + 5, "text-anchor": "end" }, data.tokens[i]));
      left.onmouseenter = left.onfocus = () => focus(row);
      left.onmouseleave = left.onblur = () => focus(null);
      svg.append(left, draw("text", { x: most + 230, y: y(row) + 5 }, data.tokens[i]));
    });
    const box = make("div", { className: "scroll" });
    box.append(svg);
    return box;
  };

  const drawAll = (headOnly = false) => {
    const most = top(), inArcs = state.arcs && S <= ARC_LIMIT;
    buttons.flat().forEach((button, n) => {
      const [layer, head] = [Math.floor(n / data.heads), n % data.heads];
      const on = layer === state.layer && head === state.head;
      button.setAttribute("aria-pressed", on);
      button.tabIndex = on ? 0 : -1;
      const at = offset(layer, head);
      if (!headOnly) paint(button.firstChild, at, state.own ? strongest(at, at + 1) : most);
    });
    say.textContent = loudest();
    const who = state.control ? "random weights, nothing learnt" : data.name;
    const how = inArcs ? "Each token on the left looks at tokens on the right." : "Each row is a token that looks, each column one looked at.";
    full.replaceChildren(make("h4", { textContent: `${name(state.layer, state.head).replace("l", "L")} (${who})` }),
      make("p", { className: "muted", textContent: how }), inArcs ? arcs() : matrix(most), say);
    const scope = state.own ? "each head on its own scale" : "one scale for all heads";
    const hidden = state.specials ? "" : " [CLS] and [SEP] are hidden: the colours are stretched over what remains, the weights stay as they are.";
    legend.replaceChildren("0", make("div", { className: "ramp" }), (most / 255).toFixed(2),
      make("span", { className: "muted", textContent: `attention weight, ${scope}.${hidden}` }));
  };

  const bar = make("div", { className: "bar" }, option("Show [CLS] and [SEP]", "specials"), option("Each head on its own scale", "own"),
    option(S <= ARC_LIMIT ? "Arcs instead of matrix" : `Arcs (up to ${ARC_LIMIT} tokens)`, "arcs", S <= ARC_LIMIT));
  if (data.control) bar.append(option("Random weights control", "control"));
  const left = make("div", {}, make("h4", { textContent: `All ${data.layers} × ${data.heads} heads: choose one` }),
    make("p", { className: "muted", textContent: "Click, or move with the arrow keys." }), grid, legend);
  root.replaceChildren(make("style", { textContent: CSS }), make("div", { className: "heads" }, bar, make("div", { className: "two" }, left, full)));
  drawAll();
  let width = root.clientWidth;
  root.resizeWatch?.disconnect();
  root.resizeWatch = new ResizeObserver(() => {
    if (Math.abs(root.clientWidth - width) < 24) return;
    width = root.clientWidth;
    drawAll(true);
  });
  root.resizeWatch.observe(root);
}

// All attention heads as small squares, and one of them enlarged: words joined by lines.

import { colour, drawing, element } from "./dom.js";

export const DRAWN = 48; // tokens: more cannot be told apart
const STEP = 24, LEFT = 112, RIGHT = 248, WIDTH = 360, TOP = 30; // of the enlarged head, in its own units
const FAINT = 0.02; // lines below are left out
const NAMED = 3; // words that a screen reader is told

const percent = (p) => `${Math.round(100 * p)}%`;
const isSpecial = (token) => token === "[CLS]" || token === "[SEP]";
const weight = (answer, n, i, j) => answer.attentions[n][i * answer.tokens.length + j];

// Positions that are drawn: [CLS] and [SEP] too where there is nothing else.
export function positions({ tokens }, special) {
  const all = tokens.map((_, s) => s).slice(0, DRAWN), words = all.filter((s) => !isSpecial(tokens[s]));
  return special || !words.length ? all : words;
}

// The mean share of a head's attention that each token gets: (S,).
function received({ tokens, attentions }, n) {
  const S = tokens.length;
  return tokens.map((_, j) => tokens.reduce((sum, _, i) => sum + attentions[n][i * S + j], 0) / S);
}

export function onSpecial(answer, n) {
  return received(answer, n).reduce((sum, share, j) => sum + (isSpecial(answer.tokens[j]) ? share : 0), 0);
}

// The colour scale grows as the square root of the weight, so that small weights can be seen too.
const strength = (p) => Math.sqrt(Math.min(1, p));

export function drawRamp(box) {
  const [r, g, b] = colour("ink"), stops = Array.from({ length: 11 }, (_, i) => `rgb(${r} ${g} ${b} / ${strength(i / 10)})`);
  box.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
}

function square(answer, n, kept, ink) {
  const canvas = element("canvas", { width: kept.length, height: kept.length }), context = canvas.getContext("2d");
  const image = context.createImageData(kept.length, kept.length);
  kept.forEach((i, row) => kept.forEach((j, column) => {
    image.data.set([...ink, 255 * strength(weight(answer, n, i, j))], 4 * (row * kept.length + column));
  }));
  context.putImageData(image, 0, 0);
  return canvas;
}

// `pick(head)` and `toggle(head)` are told "layer-head", counted from 0.
export function drawHeads(box, answer, { layers, heads }, { head: chosen, off, special }, { pick, toggle }, say) {
  const kept = positions(answer, special), ink = colour("ink"), buttons = [];
  const move = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: heads, ArrowUp: -heads };
  const keys = (event, n) => {
    const to = n + move[event.key];
    if (event.key === "x" || event.key === "X") toggle(buttons[n].name);
    else if (to >= 0 && to < layers * heads) {
      pick(buttons[to].name);
      box.querySelector("[aria-checked=true]").focus();
    } else return;
    event.preventDefault();
  };
  for (let n = 0; n < layers * heads; n++) {
    const layer = Math.floor(n / heads), name = `${layer}-${n % heads}`, shares = received(answer, n), most = Math.max(...shares);
    const label = say.headSummary(layer + 1, (n % heads) + 1, answer.tokens[shares.indexOf(most)], most, off.includes(name));
    const button = element("button", { type: "button", role: "radio", name, label, title: label }, square(answer, n, kept, ink));
    Object.assign(button, { tabIndex: name === chosen ? 0 : -1, ariaChecked: name === chosen });
    button.classList.toggle("off", off.includes(name));
    button.onclick = () => pick(name);
    button.onkeydown = (event) => keys(event, n);
    buttons.push(button);
  }
  box.style.gridTemplateColumns = `1.2rem repeat(${heads}, minmax(0, 1fr))`;
  const number = (n) => element("span", { textContent: n, ariaHidden: "true" });
  const rows = Array.from({ length: layers }, (_, layer) => [number(layer + 1), ...buttons.slice(layer * heads, (layer + 1) * heads)]);
  box.replaceChildren(number(""), ...Array.from({ length: heads }, (_, head) => number(head + 1)), ...rows.flat());
}

const place = (row) => TOP + row * STEP + STEP / 2;

// Every line of a head as {from, to, p}: rows in the picture and weight.
export function lines(answer, n, kept) {
  return kept.flatMap((i, from) => kept.map((j, to) => ({ from, to, p: weight(answer, n, i, j) }))).filter(({ p }) => p > FAINT);
}

function readerLabel(answer, n, kept, row, say) {
  const all = lines(answer, n, kept).filter(({ from }) => from === row).sort((a, b) => b.p - a.p).slice(0, NAMED);
  return say.reads(answer.tokens[kept[row]], all.map(({ to, p }) => `${answer.tokens[kept[to]]} ${percent(p)}`).join(", "));
}

const trimmed = (token) => (token.length > 15 ? `${token.slice(0, 14)}…` : token);

// Words joined by lines. Resting on a word on the left shows its lines alone.
export function drawHead(answer, n, special, say) {
  const kept = positions(answer, special);
  const joined = ({ from, to }) => drawing("line", { x1: LEFT + 6, y1: place(from), x2: RIGHT - 6, y2: place(to) });
  const all = lines(answer, n, kept).map((line) => ({ ...line, node: joined(line) }));
  const show = (row) => all.forEach(({ from, p, node }) => node.setAttribute("opacity", row === null || row === from ? p : 0));
  const picture = drawing("svg", { viewBox: `0 0 ${WIDTH} ${TOP + kept.length * STEP + 4}`, role: "group" });
  const word = (row, x, anchor) => {
    const text = drawing("text", { x, y: place(row) + 4, "text-anchor": anchor });
    text.textContent = trimmed(answer.tokens[kept[row]]);
    return text;
  };
  let pinned = null;
  const readers = kept.map((_, row) => {
    const label = readerLabel(answer, n, kept, row, say);
    const reader = drawing("g", { tabindex: 0, role: "button", "aria-label": label, "aria-pressed": false }, word(row, LEFT, "end"));
    const pin = () => {
      pinned = pinned === row ? null : row;
      readers.forEach((one, other) => {
        one.classList.toggle("chosen", other === pinned);
        one.setAttribute("aria-pressed", other === pinned);
      });
      show(pinned);
    };
    reader.onmouseenter = reader.onfocus = () => show(row);
    reader.onmouseleave = reader.onblur = () => show(pinned);
    reader.onclick = pin;
    reader.onkeydown = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      pin();
    };
    return reader;
  });
  const axis = [[LEFT, "end", say.from], [RIGHT, "start", say.to]].map(([x, anchor, name]) => {
    const text = drawing("text", { x, y: 16, "text-anchor": anchor, class: "axis" });
    text.textContent = name;
    return text;
  });
  show(null);
  picture.append(...axis, ...all.map(({ node }) => node), ...readers, ...kept.map((_, row) => word(row, RIGHT, "start")));
  return picture;
}

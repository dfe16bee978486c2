// Bars of guesses and guesses layer by layer: one column as the visitor wrote it, one with what was changed.

import { element } from "./dom.js";

const SHOWN = 6;
const LEAST = 0.25;
const SURE = 0.5; // below, a first guess is more likely wrong than right, and the page says so

const percent = (p) => `${(100 * p).toFixed(1)}%`;
export const shown = (fill) => fill.known.slice(0, SHOWN);
export const probability = (fill, token) => fill?.known.find(([other]) => other === token)?.[1] ?? 0;
// What a full bar stands for: the largest guess, but a first guess that is unlikely does not fill its bar.
export const fullBar = (answers) => Math.max(LEAST, ...answers.flatMap(({ fills }) => fills.map(({ known }) => known[0][1])));

export function bar([token, p], before, full, mine, say) {
  const width = (part) => `${(100 * part) / full}%`, kind = before === undefined ? "" : p > before ? "more" : "less";
  const track = element("span", { className: "track" }, element("i", { className: kind, style: { width: width(p) } }));
  if (before !== undefined) track.append(element("b", { style: { left: width(Math.min(before, full)) } }));
  const word = element("span", { className: "word", textContent: token, title: token });
  const parts = [word, track, element("span", { className: "value", textContent: percent(p) })];
  for (const part of parts) part.ariaHidden = "true";
  const spoken = element("span", { className: "away", textContent: say.bar(token, p, before) });
  return element("li", { className: mine ? "mine" : "" }, ...parts, spoken);
}

function gap(fill, before, count, number, full, mine, say) {
  const bars = shown(fill).map((guess) => bar(guess, before && probability(before, guess[0]), full, guess[0].toLowerCase() === mine, say));
  const [[, first]] = fill.known;
  return [
    ...(count > 1 ? [element("p", { className: "gap", textContent: say.gap(number + 1) })] : []),
    element("ul", { className: "bars" }, ...bars),
    ...(first < SURE ? [element("p", { className: "note", textContent: say.unsure(first) })] : []),
  ];
}

export const column = (title, ...children) => element("div", { className: "column" }, element("h3", { textContent: title }), ...children);

// answers: one, or two; titles: as many. `mine` is the visitor's own guess.
export function drawGuesses(box, answers, titles, mine, guessing, say) {
  const full = fullBar(answers), none = ({ tokens }) => (!guessing ? say.noHead : tokens.length > 2 ? say.nothing : say.empty);
  box.replaceChildren(...answers.map(({ fills, ...answer }, side) => column(titles[side], ...(fills.length
    ? fills.flatMap((fill, m) => gap(fill, side ? answers[0].fills[m] : undefined, fills.length, m, full, mine, say))
    : [element("p", { className: "note", textContent: none(answer) })]))));
}

function layerRows({ layers }, say) {
  return layers.map((guesses, n) => element("tr", {}, element("th", { scope: "row", textContent: say.layer(n) }),
    ...guesses.map(([token, p]) => element("td", {}, `${token} `, element("span", { textContent: percent(p) })))));
}

export function drawLayers(box, answers, titles, say) {
  box.replaceChildren(...answers.map(({ fills }, side) => column(titles[side], ...fills.flatMap((fill, m) => [
    ...(fills.length > 1 ? [element("p", { className: "gap", textContent: say.gap(m + 1) })] : []),
    element("table", {}, element("tbody", {}, ...layerRows(fill, say))),
  ]))));
}

// The page: its state, what is asked of a model, and what is drawn of the answers.

import { languages } from "../strings.js";
import { Client } from "./client.js";
import { element, find } from "./dom.js";
import { dropped, wanted } from "./folder.js";
import { drawGuesses, drawLayers, fullBar } from "./guesses.js";
import { drawHead, drawHeads, drawRamp, DRAWN, onSpecial } from "./heads.js";
import { FIRST_HEAD, readLink, writeLink } from "./link.js";
import { drawPicture, give } from "./picture.js";
import { Refusal } from "./refuse.js";
import { bare, gapsDrawn, gapsRead, hide, isHidden, MASK, moved, put, swapped, words } from "./sentence.js";
import { taughtSection } from "./taught.js";
import { debounced, oneAtATime } from "./timing.js";

const BUTTONS = 60; // of words; a text may be longer
const linked = readLink(location.search, languages);
const preferred = navigator.language.startsWith("zh") ? "zh" : "en";
const state = { ...linked, head: linked.head ?? FIRST_HEAD, language: linked.language ?? preferred, mine: "" };
let say = languages[state.language];
let site = { models: [], gaps: [] }, stored = { answers: {}, shape: {} }; // what the build wrote
let source = null, page = null, own = null; // the model that answers: the page's best so far, or the visitor's
let hidden = new Map(); // position -> the word that is hidden there
let covered = false; // the visitor guesses first
let last = null; // the answers that are drawn, what was asked, and its titles
let updateTask = () => {}; // until the section of tasks is there

// What is asked: the sentence as it stands and, if anything is changed, the same with all changes. A link may name heads
// that the model does not have.
function runs({ layers: L, heads: A }) {
  const { text, swap, random, layers } = state;
  const off = state.off.filter((name) => { const [layer, head] = name.split("-"); return layer < L && head < A; });
  const original = { text, off: [], random: false, layers };
  const changed = { text: swap ? swapped(text, swap) : text, off, random, layers };
  return JSON.stringify(changed) === JSON.stringify(original) ? [original] : [original, changed];
}

function titles([{ text }, changed]) {
  if (!changed) return [text];
  const { off, random } = changed, { swap } = state;
  const word = changed.text !== text && say.change.word(bare(words(text)[swap.word]), swap.to);
  return [say.original, say.changedBy([word, off.length && say.change.off(off.length), random && say.change.random].filter(Boolean))];
}

// Answers of the best model that were stored when the page was built serve until it has come.
function keptAnswer() {
  const asked = runs(stored.shape);
  const answers = asked.map(({ text, off, random }) => (off.length || random || !Object.hasOwn(stored.answers, text) ? null : stored.answers[text]));
  if (own || !answers.every(Boolean) || source?.name === stored.model) return null;
  return { asked, names: titles(asked), answers, shape: stored.shape, by: stored.model, status: say.stored(stored.model) };
}

async function ask() {
  const kept = keptAnswer();
  if (kept || !source) return kept;
  const { name, shape } = source, asked = runs(shape), names = titles(asked), start = performance.now();
  const answers = await source.answer(asked), ms = performance.now() - start;
  const small = !own && !lost && site.models.length > 1 && name !== site.models[0].name;
  return { asked, names, answers, shape, by: name, status: `${say.answered(name, ms)}${small ? ` ${say.meanwhile}` : ""}` };
}

let refused = false; // a folder was, or the large model has not come: that line stays until the visitor does something else
const answerAll = oneAtATime(async () => {
  try {
    last = await ask();
    if (!refused) find("problem").textContent = "";
    draw();
  } catch (error) {
    if (error.code !== "closed") complain(error); // else another model is asked already
  }
});

function share() {
  try {
    history.replaceState(null, "", writeLink(state));
  } catch {} // Safari refuses the 101st within 30 seconds: the next change writes the link
}

function update() {
  drawSentence();
  share();
  answerAll();
}

function line(error) {
  const { code, about } = error instanceof Refusal ? error : { code: "broken", about: error.message };
  return (say.errors[code] ?? say.errors.broken)(about);
}

function complain(error) {
  find("problem").textContent = line(error);
}

function change(changes) {
  refused = false;
  Object.assign(state, changes);
  update();
}

// The sentence and its controls

function drawSentence() {
  const { text, swap } = state, all = words(text);
  if (textTyped() !== text) find("text").value = text;
  const buttons = all.slice(0, BUTTONS).map((word, i) => {
    const away = isHidden(word), label = !away ? say.hide(bare(word)) : hidden.has(i) ? say.bring(hidden.get(i)) : say.bringGuess;
    const button = element("button", { type: "button", textContent: word, ariaPressed: away, label });
    if (swap?.word === i) button.dataset.to = swap.to;
    button.onclick = () => (away ? bringBack(i) : hideWord(i));
    return button;
  });
  const focused = [...find("words").children].indexOf(document.activeElement);
  const rest = all.length > BUTTONS ? [element("p", { className: "note", textContent: say.buttons(BUTTONS) })] : [];
  find("words").replaceChildren(...buttons, ...rest);
  buttons[focused]?.focus();
  const chosen = document.activeElement === find("swap-to") ? find("swap-word").value : ""; // what stands for it is being typed
  const options = all.map((word, value) => element("option", { value, textContent: bare(word), hidden: isHidden(word) }));
  find("swap-word").replaceChildren(element("option", { value: "", textContent: say.swapNone }), ...options);
  find("swap-word").value = swap?.word ?? chosen;
  if (document.activeElement !== find("swap-to")) find("swap-to").value = swap?.to ?? "";
  find("random").checked = state.random;
  find("guess-first").checked = state.guessFirst;
  find("special").checked = state.special;
  find("layers-box").open = state.layers;
  const example = site.gaps.find((one) => one.text === text);
  find("note").textContent = example?.note && !covered ? say.notes[example.note] : ""; // it would give the answer away
  for (const [i, button] of [...find("examples").children].entries()) button.ariaPressed = site.gaps[i] === example;
}

function hideWord(at) {
  hidden.set(at, bare(words(state.text)[at]));
  cover();
  change({ text: hide(state.text, at), swap: state.swap?.word === at ? null : state.swap }); // a hidden word is not swapped
}

// The word that was hidden; where the visitor wrote [MASK], the first guess.
async function bringBack(at) {
  const { text } = state, gap = words(text).slice(0, at).join(" ").split(MASK).length - 1;
  const word = hidden.get(at) ?? (await ask().catch(() => null))?.answers[0].fills[gap]?.known[0][0];
  if (!word || text !== state.text) return;
  hidden.delete(at);
  change({ text: put(text, at, word) });
}

function cover() {
  covered = state.guessFirst;
  state.mine = "";
  find("guess-word").value = "";
  find("verdict").textContent = "";
}

function showExample({ text, swap = null }) {
  const { random } = state;
  hidden = new Map();
  cover();
  change({ text, swap, off: [], random: false, side: 0 });
  if (random) updateTask();
}

function drawExamples() {
  find("examples").replaceChildren(...site.gaps.map((example) => {
    const button = element("button", { type: "button", textContent: gapsDrawn(example.text), title: example.text });
    button.onclick = () => showExample(example);
    return button;
  }));
}

// The answers

function draw() {
  drawStatus();
  const { fills = [] } = last?.answers[0] ?? {};
  find("guess").hidden = !fills.length;
  find("show").hidden = !covered;
  for (const id of ["guesses", "scale"]) find(id).hidden = !last || (covered && fills.length > 0);
  find("layers-box").hidden = covered || !fills.length;
  find("attention").hidden = !last;
  if (!last) return;
  const { answers, names, shape } = last;
  if (!covered || !fills.length) drawGuesses(find("guesses"), answers, names, state.mine, shape.guessing, say);
  find("scale").textContent = fills.length ? say.scale(fullBar(answers)) + (answers.length > 1 ? say.scaleChanged : "") : "";
  if (answers.some(({ tokens }) => tokens.includes("[UNK]"))) find("scale").textContent += ` ${say.unknown}`;
  const gaps = answers[0].tokens.filter((token) => token === MASK).length;
  if (fills.length && fills.length < gaps) find("scale").textContent += ` ${say.gaps(fills.length)}`;
  if (answers.some(({ cut }) => cut)) find("scale").textContent += ` ${say.cut}`;
  if (state.layers && !covered) drawLayers(find("layers"), answers, names, say);
  drawVerdict();
  drawAttention();
}

function drawVerdict() {
  const known = last.answers[0].fills[0]?.known, rank = known?.findIndex(([token]) => token.toLowerCase() === state.mine);
  const verdict = () => (rank < 0 ? say.verdictNone(state.mine) : say.verdict(state.mine, rank + 1, known[rank][1]));
  find("verdict").textContent = covered || !state.mine || !known ? "" : verdict();
}

function seen() {
  const side = Math.min(state.side, last.answers.length - 1), { layers, heads } = last.shape;
  let [layer, head] = state.head.split("-").map(Number);
  if (layer >= layers || head >= heads) [layer, head] = [0, 0];
  return { answer: last.answers[side], side, layer, head, n: layer * heads + head, name: `${layer}-${head}` };
}

function pickHead(head) {
  state.head = head;
  drawAttention();
  share();
}

function toggleHead(name) {
  change({ off: state.off.includes(name) ? state.off.filter((one) => one !== name) : [...state.off, name].sort() });
}

function drawAttention() {
  const focused = ["heads", "side"].find((id) => find(id).contains(document.activeElement)); // all of it is drawn anew
  const { answer, side, layer, head, n, name } = seen();
  const shown = { head: name, off: state.off, special: state.special };
  drawHeads(find("heads"), answer, last.shape, shown, { pick: pickHead, toggle: toggleHead }, say);
  drawRamp(find("ramp"));
  const toggle = element("button", { type: "button", textContent: state.off.includes(name) ? say.switchOn : say.switchOff });
  toggle.onclick = () => toggleHead(name);
  const notes = [say.toSpecial(onSpecial(answer, n)), ...(answer.tokens.length > DRAWN ? [say.drawn(DRAWN)] : [])];
  const refocus = find("head").contains(document.activeElement) && document.activeElement.tagName === "BUTTON";
  find("head").replaceChildren(
    element("div", { className: "row" }, element("h3", { textContent: say.head(layer + 1, head + 1) }), toggle),
    ...notes.map((note) => element("p", { className: "note", textContent: note })), drawHead(answer, n, state.special, say),
  );
  if (refocus) toggle.focus();
  find("all-on").hidden = !state.off.length;
  drawSides(side);
  if (focused) find(focused).querySelector("[aria-checked=true], :checked")?.focus();
}

function drawSides(side) {
  const names = last.answers.length > 1 ? [say.original, say.changed] : [];
  find("side").replaceChildren(...names.map((name, i) => {
    const input = element("input", { type: "radio", name: "side", checked: i === side });
    input.onchange = () => { change({ side: i }); };
    return element("label", {}, input, ` ${name}`);
  }));
}

// Models

let bestHasCome, bestIsLost; // told the client of the best model, or why there is none
const best = new Promise((...functions) => { [bestHasCome, bestIsLost] = functions; });
best.catch(() => {}); // who asks for it says so
let lost = false;
let progress = null; // of the model that is being loaded: {name, got, total}
function drawStatus() {
  find("status").textContent = last?.status ?? "";
  drawProgress();
}

function drawProgress() { // not in the status: a screen reader would say each chunk
  const loading = progress && !own ? say.loading(progress.name, progress) : "";
  find("loading").textContent = loading;
  find("progress").hidden = !loading;
  if (progress?.total) Object.assign(find("progress"), { max: progress.total, value: progress.got });
}

// The small model first, which answers until the large one has come; a large one that the browser has kept comes at once.
async function openModels() {
  const kept = await isKept(site.models[0]);
  for (const model of kept ? site.models.slice(0, 1) : [...site.models].reverse()) {
    const client = new Client(model.name, (part) => { progress = { name: model.name, ...part }; drawProgress(); });
    try {
      page = await client.open({ address: address(model), version: model.version });
    } catch (error) {
      complain(error);
      if (model === site.models[0]) {
        lost = refused = true;
        bestIsLost(error);
        answerAll(); // without saying that a better answer is to come
      }
      continue;
    } finally {
      progress = null;
    }
    if (model === site.models[0]) bestHasCome(page);
    if (!own) use(page);
  }
}

const address = ({ name }) => new URL(`models/${name}/`, location.href.split("?")[0]).href;
const weightsOf = (model) => `${address(model)}${model.task ? "adapter_" : ""}model.safetensors?${model.version}`;

async function isKept(model) {
  const store = await globalThis.caches?.open("bertlab-weights").catch(() => null);
  return Boolean(await store?.match(weightsOf(model)));
}

function use(client) {
  if (source && source !== client && source !== page) source.close();
  source = client;
  find("own-back").hidden = !own;
  update();
}

let opening = null; // a folder; another one that comes meanwhile takes its place
async function openOwn(files) {
  opening?.close();
  const client = (opening = new Client(say.ownName));
  find("status").textContent = say.reading;
  find("status").scrollIntoView({ block: "center" });
  try {
    await client.open({ files });
  } catch (error) {
    if (error.code === "closed") return;
    client.close();
    opening = null;
    refused = true;
    drawStatus();
    complain(error);
    find("problem").scrollIntoView({ block: "center" });
    return;
  }
  opening = null;
  own = client;
  refused = false;
  Object.assign(state, { off: [], head: FIRST_HEAD });
  use(client);
}

// Controls

const textTyped = () => gapsRead(find("text").value).replace(/\s+/g, " ").trim();

// What is typed is in the state at once, or an answer that comes meanwhile would draw the old text over it.
function readText() {
  const text = textTyped(), swap = moved(state.swap, words(state.text), words(text));
  hidden = new Map();
  refused = false;
  cover();
  Object.assign(state, { text, swap });
}

function readSwap() {
  const word = find("swap-word").value, to = find("swap-to").value.trim();
  refused = false;
  state.swap = word !== "" && to ? { word: +word, to } : null;
}

const soon = debounced(update, 120);

function setRandom(random) {
  change({ random, side: random ? 1 : 0 });
  updateTask();
}

function guessed() {
  state.mine = find("guess-word").value.trim().toLowerCase();
  covered = false;
  drawSentence();
  draw();
  find("guesses").focus(); // what was pressed is hidden now
}

async function copyPicture() {
  if (!last) return;
  const { answer, layer, head, n } = seen(), { asked, names } = last;
  const sides = last.answers.map((one, i) => ({
    title: last.answers.length > 1 ? names[i] : "", text: asked[i].text, answer: covered ? { ...one, fills: [] } : one,
  }));
  const footer = say.picture(last.by, layer + 1, head + 1);
  const blob = await drawPicture({ sides, n, seen: answer, special: state.special, footer });
  flash("copy-picture", (await give(blob)) === "copied" ? say.copied : say.saved);
}

function flash(id, text) {
  find(id).textContent = text;
  setTimeout(() => { find(id).textContent = say[find(id).dataset.say]; }, 1500);
}

function speak() {
  say = languages[state.language];
  document.documentElement.lang = state.language;
  document.title = `bertlab · ${say.title}`;
  for (const node of document.querySelectorAll("[data-say]")) node.textContent = say[node.dataset.say];
  const [best] = site.models, rounded = best?.weights.bits === 8 ? site.siblings : [];
  find("weights").textContent = best ? [say.weights(best), ...rounded.map(say.siblingLoss)].join(" ") : "";
  for (const node of document.querySelectorAll("[data-label]")) node.setAttribute("aria-label", say[node.dataset.label]);
}

function listen() {
  find("text").oninput = () => { readText(); soon(); };
  find("text").onkeydown = (event) => { if (event.key === "Enter") { event.preventDefault(); update(); } };
  find("swap-word").onchange = ({ target }) => {
    if (target.value) find("swap-to").focus();
    readSwap();
    if (!target.value || find("swap-to").value) update();
  };
  find("swap-to").oninput = () => { readSwap(); soon(); };
  find("swap").onsubmit = (event) => { event.preventDefault(); update(); };
  find("guess").onsubmit = (event) => { event.preventDefault(); guessed(); };
  for (const id of ["random", "task-random"]) find(id).onchange = ({ target }) => setRandom(target.checked);
  find("guess-first").onchange = ({ target }) => { state.guessFirst = target.checked; cover(); update(); };
  find("special").onchange = ({ target }) => change({ special: target.checked });
  find("layers-box").ontoggle = ({ target }) => { if (target.open !== state.layers) change({ layers: target.open }); };
  find("all-on").onclick = () => {
    find("heads").querySelector("[aria-checked=true]").focus(); // the button goes
    change({ off: [] });
  };
  find("language").onclick = () => { refused = false; state.language = state.language === "en" ? "zh" : "en"; speak(); update(); updateTask(); };
  find("copy-link").onclick = async () => {
    const link = new URL(writeLink(state), location).href;
    const copied = await navigator.clipboard?.writeText(link).then(() => true, () => false);
    flash("copy-link", !copied ? say.notCopied : own ? say.copiedWithout : say.copied); // without a secure address no page may copy
  };
  find("copy-picture").onclick = copyPicture;
  find("folder").onchange = ({ target }) => {
    openOwn(wanted(target.files));
    target.value = ""; // the same folder, mended, may be chosen again
  };
  find("own-back").onclick = () => {
    find("folder").focus(); // the button goes
    own = null;
    Object.assign(state, { off: [], head: FIRST_HEAD });
    use(page);
  };
  matchMedia("(prefers-color-scheme: dark)").onchange = () => last && draw();
  const files = ({ dataTransfer }) => dataTransfer.types.includes("Files"); // words that are dragged go where they go
  addEventListener("dragover", (event) => {
    if (!files(event)) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  addEventListener("dragleave", () => document.body.classList.remove("dropping"));
  addEventListener("drop", async (event) => {
    if (!files(event)) return;
    event.preventDefault();
    document.body.classList.remove("dropping");
    openOwn(await dropped(event.dataTransfer));
  });
}

// Attentions are stored as bytes in base64: a 255th of a share each.
function unpack(answers) {
  const floats = (text) => Float32Array.from(atob(text), (letter) => letter.charCodeAt(0) / 255);
  for (const answer of Object.values(answers)) answer.attentions = answer.attentions.map(floats);
}

async function start() {
  speak();
  listen();
  navigator.serviceWorker?.register("../sw.js").catch(() => null); // without one the page needs its server
  const [wrote, answers] = ["site.json", "stored.json"].map(async (name) => (await fetch(name)).json());
  site = await wrote;
  speak();
  drawExamples();
  if (!state.text) Object.assign(state, { text: site.gaps[0].text, swap: site.gaps[0].swap ?? null, guessFirst: true });
  cover();
  drawSentence(); // before the answers have come, which are larger
  stored = await answers;
  unpack(stored.answers);
  update();
  openModels();
  const { siblings, tasks, models: [{ name }] } = site;
  updateTask = taughtSection({ state, siblings, tasks, best, name, address, say: () => say, share, line });
}

start().catch(complain);

// All attention heads of one text: a grid of thumbnails, and one head in full as a matrix or as arcs.
// mount(root, buffer, view, onView) is hosted by Streamlit and by anywidget; component.py puts the CSS,
// shared.js, attention_head.js and attention_grid.js before it. Everything that a reader does is answered here; `onView`
// only reports it.
//
// buffer: uint32 length of the header | header (JSON) | uint8 weights, 255 = 1.0. The header names `roles`,
// `models` and the `sum` of the weights; for each model follow (L, A, S, S) weights and, if it has two `sets`, as
// many with random weights.

const ARC_LIMIT = 32;
const SCALES = { all: "one scale for all heads", head: "each head on its own scale", row: "each row on its own scale" };
const HIDDEN = " [CLS] and [SEP] are hidden; the weights of the others stay as they are.";

const sizeOf = (buffer) => new DataView(buffer.buffer, buffer.byteOffset).getUint32(0, true);
const headerOf = (buffer) => new TextDecoder().decode(buffer.subarray(4, 4 + sizeOf(buffer)));
const read = (buffer) => {
  const header = JSON.parse(headerOf(buffer));
  let from = 4 + sizeOf(buffer);
  for (const model of header.models)
    for (const set of model.sets) {
      const length = model.layers * model.heads * model.tokens.length ** 2;
      set.weights = buffer.subarray(from, from += length);
    }
  return header;
};

export function mount(root, buffer, view, onView) {
  const data = read(buffer);
  const state = { layer: 0, head: 0, specials: true, control: false, arcs: false, scale: "all", role: "" };
  Object.assign(state, data.view, view, JSON.parse(root.dataset.view ?? "{}"));
  if (![...data.roles, NO_ROLE].includes(state.role)) state.role = "";
  let timer;
  const change = (news, headOnly = false) => {
    Object.assign(state, news);
    panes.forEach((pane) => pane.draw(headOnly));
    root.dataset.view = JSON.stringify(state); // for the next mount here: other weights may come before the report goes
    clearTimeout(timer);
    timer = setTimeout(() => onView({ ...state }), 250);
  };
  const all = data.models.map((model) => outlook(model, data.roles, state));
  const panes = all.map((heads) => makePane(heads, all, state, change));
  if (panes.length > 1) panes.forEach((pane, n) => pane.node.prepend(make("h4", { className: "who", textContent: data.models[n].name })));
  const beside = make("div", { className: "panes" }, ...panes.map((pane) => pane.node));
  root.replaceChildren(make("style", { textContent: CSS }), make("div", { className: "heads" }, options(data, state, change), beside));
  panes.forEach((pane) => pane.draw());
  followWidth(root, () => panes.forEach((pane) => pane.draw()));
}

const options = (data, state, change) => {
  const option = (text, key, enabled = true) => {
    const box = make("input", { type: "checkbox", checked: state[key], disabled: !enabled });
    box.onchange = () => change({ [key]: box.checked });
    return make("label", {}, box, text);
  };
  const scale = make("select", {}, ...Object.entries(SCALES).map(([value, textContent]) => make("option", { value, textContent })));
  scale.value = state.scale;
  scale.onchange = () => change({ scale: scale.value });
  const short = data.models.every((model) => model.tokens.length <= ARC_LIMIT);
  const bar = make("div", { className: "bar" }, option("Show [CLS] and [SEP]", "specials"),
    option(short ? "Arcs instead of matrix" : `Arcs (up to ${ARC_LIMIT} tokens)`, "arcs", short));
  if (data.models.some((model) => model.sets.length > 1)) bar.append(option("Random weights control", "control"));
  bar.append(make("label", {}, "Brightness", scale));
  return bar;
};

// One model: roles to choose by, its heads as thumbnails, one head in full, and the roles of that head.
const makePane = (heads, models, state, change) => {
  const left = heads.model.heads > 6 ? 420 : 380, node = make("div", { className: "pane" });
  const choice = makeChoice(heads, state, change), legend = make("div", { className: "legend" });
  const grid = makeGrid(heads, state, change, () => {
    const width = node.clientWidth || left;
    return Math.min(left, width < 700 ? width : Math.floor(0.45 * width));
  });
  const full = makeFull(heads, state), bars = make("div", { className: "roles" });
  const all = make("div", { className: "all" }, choice.node, ...grid.nodes, legend);
  node.append(make("div", { className: "inside", style: `--left: min(${left}px, 45cqi)` }, all, full.node, bars));
  let top;
  const draw = (headOnly = false) => {
    const keep = heads.keep(), at = heads.chosen();
    if (!headOnly) {
      const scale = brightest(models, state.scale);
      top = (place) => scale(heads, place);
      choice.draw();
      grid.draw(keep, top);
    }
    grid.press();
    full.draw(keep, top(heads.offset(at)));
    drawBars(bars, heads, at);
    drawLegend(legend, state, top(heads.offset(at)));
  };
  return { node, draw };
};

const makeFull = (heads, state) => {
  const node = make("div", { className: "full" }), said = make("p", { className: "said" });
  const { tokens, sets, name } = heads.model;
  said.setAttribute("aria-live", "polite");
  const say = (text) => { said.textContent = text; };
  const draw = (keep, top) => {
    const at = heads.chosen(), place = heads.offset(at), { weights } = heads.set(), inArcs = state.arcs && tokens.length <= ARC_LIMIT;
    const shown = seen(weights, place, tokens, keep, heads.special), room = node.clientWidth || 440;
    const picture = inArcs ? arcs(shown, titleOf(at), room, say)
      : matrix(shown, titleOf(at), room, (canvas) => paint(canvas, weights, place, tokens.length, keep, top), say);
    const who = state.control && sets.length > 1 ? "random weights, nothing learnt" : name;
    const how = inArcs ? "Each token on the left attends to tokens on the right."
      : "Each row is a token that attends, each column one that is attended to.";
    const note = make("p", { className: "muted", textContent: how });
    node.replaceChildren(make("h4", { textContent: `L${titleOf(at).slice(1)} (${who})` }), said, picture, note);
    if (picture.scrollWidth > picture.clientWidth + 8) note.append(` Scroll to see all ${keep.length} tokens.`);
    say(shown.loudest);
  };
  return { node, draw };
};

const drawBars = (node, { roles, set, model }, [layer, head]) => {
  const { scores, best } = set(), control = model.sets[1]?.scores[layer][head];
  node.replaceChildren(make("h4", { textContent: `Where ${titleOf([layer, head])} attends` }),
    ...roleBars(roles, scores[layer][head], best[layer][head], control, model.uniform));
};

const drawLegend = (node, state, top) => {
  const ramp = make("div", { className: "ramp" }), hidden = state.specials ? "" : HIDDEN;
  ramp.style.background = `linear-gradient(90deg, ${CIVIDIS.map((c) => "#" + c)})`;
  const words = make("span", { className: "muted", textContent: `attention weight, ${SCALES[state.scale]}.${hidden}` });
  node.replaceChildren("0", ramp, top ? share(top) : "most", words);
};

// All attention heads of one text: a grid of thumbnails, and one head in full as a matrix or as arcs.
// mount(root, buffer, view, onView) is hosted by Streamlit and by anywidget; canvas.py puts attention.css (as CSS)
// and attention_head.js before it. Everything that a reader does is answered here; `onView` only reports it.
//
// buffer: uint32 length of the header | header (JSON) | uint8 weights, 255 = 1.0. The header names `roles`,
// `models` and the `sum` of the weights; for each model follow (L, A, S, S) weights and, if it has two `sets`, as
// many with random weights.

const ARC_LIMIT = 32;
const NO_ROLE = "no role", NEAREST = 4;
const NAMING = "A head is counted where it puts more than half of its weight, averaged over the words of this text.";
const SIGNS = { previous: "←", next: "→", itself: "↺", "[CLS]": "C", "[SEP]": "S", "same word": "=", broad: "≈" };
const PLACES = { previous: "the previous token", next: "the next token", itself: "itself", "same word": "the same word elsewhere",
  broad: "all tokens alike", [NO_ROLE]: "nothing so simple" };

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
  const data = read(buffer), hasControl = data.models.some((model) => model.sets.length > 1);
  const state = { layer: 0, head: 0, specials: true, control: false, arcs: false, scale: "all", role: "" };
  Object.assign(state, data.view, view, JSON.parse(root.dataset.view ?? "{}"));
  if (![...data.roles, NO_ROLE].includes(state.role)) state.role = "";
  let timer;
  const tell = () => {
    root.dataset.view = JSON.stringify(state); // for the next mount here: other weights may come before the report goes
    clearTimeout(timer);
    timer = setTimeout(() => onView({ ...state }), 250);
  };
  const change = (news, headOnly = false) => {
    Object.assign(state, news);
    panes.forEach((pane) => pane.draw(headOnly));
    tell();
  };
  const panes = data.models.map((model) => makePane(model, data.roles, state, change));
  if (panes.length > 1) panes.forEach((pane, n) => pane.node.prepend(make("h4", { className: "who", textContent: data.models[n].name })));
  const node = make("div", { className: "heads" }, options(data, state, hasControl, change),
    make("div", { className: "panes" }, ...panes.map((pane) => pane.node)));
  root.replaceChildren(make("style", { textContent: CSS }), node);
  panes.forEach((pane) => pane.draw());
  let width = root.clientWidth;
  root.resizeWatch?.disconnect();
  root.resizeWatch = new ResizeObserver(() => {
    if (Math.abs(root.clientWidth - width) < 24) return;
    width = root.clientWidth;
    panes.forEach((pane) => pane.draw());
  });
  root.resizeWatch.observe(root);
}

const options = (data, state, hasControl, change) => {
  const option = (text, key, enabled = true) => {
    const box = make("input", { type: "checkbox", checked: state[key], disabled: !enabled });
    box.onchange = () => change({ [key]: box.checked });
    return make("label", {}, box, text);
  };
  const scales = { all: "one scale for all heads", head: "each head on its own scale", row: "each row on its own scale" };
  const choices = Object.entries(scales).map(([value, textContent]) => make("option", { value, textContent }));
  const scale = make("select", {}, ...choices);
  scale.value = state.scale;
  scale.onchange = () => change({ scale: scale.value });
  const short = data.models.every((model) => model.tokens.length <= ARC_LIMIT);
  const bar = make("div", { className: "bar" }, option("Show [CLS] and [SEP]", "specials"),
    option(short ? "Arcs instead of matrix" : `Arcs (up to ${ARC_LIMIT} tokens)`, "arcs", short));
  if (hasControl) bar.append(option("Random weights control", "control"));
  bar.append(make("label", {}, "Brightness", scale));
  return bar;
};

// One model: its roles to choose from, its heads as thumbnails, one head in full.
const makePane = (model, roles, state, change) => {
  const { layers, heads, tokens } = model, count = tokens.length;
  const special = tokens.map((token) => token === "[CLS]" || token === "[SEP]");
  const title = (layer, head) => `layer ${layer + 1}, head ${head + 1}`;
  const now = () => [clamp(state.layer, layers), clamp(state.head, heads)];
  const offset = (layer, head) => (layer * heads + head) * count * count;
  const set = () => model.sets[state.control ? model.sets.length - 1 : 0];
  const roleOf = (layer, head) => roles[set().best[layer][head]] ?? NO_ROLE;
  const scoreOf = (role) => ([layer, head]) => (role === NO_ROLE ? 0 : set().scores[layer][head][roles.indexOf(role)]);
  const everyHead = Array.from({ length: layers * heads }, (_, n) => [Math.floor(n / heads), n % heads]);

  const chips = make("div", { className: "chips" }), grid = make("div", { className: "grid" });
  const note = make("p", { className: "muted" }), legend = make("div", { className: "legend" });
  const heading = make("h4"), full = make("div", { className: "full" }), bars = make("div", { className: "roles" });
  const all = make("div", { className: "all" }, heading, note, grid, legend);
  const inside = make("div", { className: "inside" }, chips, all, full, bars), node = make("div", { className: "pane" }, inside);
  const many = heads > 6, left = many ? 420 : 380;
  let side = 84;  // of a thumbnail, in pixels
  inside.style.setProperty("--left", `${left}px`);
  const said = make("p", { className: "said" });
  said.setAttribute("aria-live", "polite");
  grid.setAttribute("role", "group");
  grid.setAttribute("aria-label", "Attention heads; arrow keys move");

  const thumbs = everyHead.map(([layer, head]) => {
    const button = make("button", { type: "button", className: "thumb" }, make("canvas"), make("span"));
    button.onclick = () => change({ layer, head }, true);
    button.onkeydown = (event) => step(event, layer, head);
    return button;
  });
  const thumb = ([layer, head]) => thumbs[layer * heads + head];
  const step = (event, layer, head) => {
    const move = MOVES[event.key];
    if (!move) return;
    event.preventDefault();
    const place = order.findIndex((at) => at[0] === layer && at[1] === head);
    const next = state.role ? order[clamp(place + move[0] + move[1], order.length)]
      : [clamp(layer + move[0], layers), clamp(head + move[1], heads)];
    change({ layer: next[0], head: next[1] }, true);
    thumb(next).focus();
  };

  // The heads on show: all of them by layer, or those of one role, the strongest first.
  let order = everyHead, found = 0;
  const choose = () => {
    if (!state.role) { order = everyHead; return; }
    const score = scoreOf(state.role), fit = everyHead.filter((at) => roleOf(...at) === state.role);
    found = fit.length;
    const from = found ? fit : everyHead.filter((at) => state.role !== NO_ROLE && score(at) !== null);
    order = from.sort((a, b) => score(b) - score(a)).slice(0, found || NEAREST);
  };
  const pick = (role) => {
    state.role = role;
    choose();
    const [layer, head] = role && order.length ? order[0] : now();
    change({ layer, head, role });
  };
  const drawChips = () => {
    const chip = (role, text, number) => {
      const button = make("button", { type: "button", className: number ? "" : "none" }, text, make("small", { textContent: number }));
      button.setAttribute("aria-pressed", state.role === role);
      button.title = NAMING;
      button.onclick = () => { pick(role); chips.querySelector("[aria-pressed=true]").focus(); };
      return button;
    };
    const number = (role) => everyHead.filter((at) => roleOf(...at) === role).length;
    const list = [...roles, NO_ROLE].map((role) => chip(role, PLACES[role] ? `${SIGNS[role] ?? ""} ${PLACES[role]}` : role, number(role)));
    chips.replaceChildren(make("span", { className: "muted", textContent: "Heads that look at" }), chip("", "anything", everyHead.length), ...list);
  };

  const drawGrid = () => {
    const width = Math.min(left, node.clientWidth || left), narrow = many || width < left;
    side = state.role ? 84 : Math.max(18, Math.min(84, Math.floor((width - (narrow ? 24 : 66)) / heads) - 5));
    grid.classList.toggle("sorted", Boolean(state.role));
    grid.style.gridTemplateColumns = `auto repeat(${heads}, auto)`;
    const edge = (textContent) => make("span", { className: "edge", textContent });
    const lines = Array.from({ length: layers }, (_, layer) =>
      [edge(narrow ? layer + 1 : `Layer ${layer + 1}`), ...thumbs.slice(layer * heads, (layer + 1) * heads)]);
    const byLayer = () => [edge(""), ...Array.from({ length: heads }, (_, head) => edge(head + 1)), ...lines.flat()];
    grid.replaceChildren(...(state.role ? order.map(thumb) : byLayer()));
    order.forEach(caption);
    heading.textContent = state.role ? `Look at ${PLACES[state.role] ?? state.role}` : `All ${layers} × ${heads} heads`;
    note.textContent = !state.role ? "Choose one: click, or move with the arrow keys."
      : found ? `${found} of ${everyHead.length} heads, strongest first.`
        : order.length ? "No head gives this more than half of its weight. The nearest:" : "This text has no head to show here.";
  };
  const caption = (at) => {
    const button = thumb(at), role = roleOf(...at), sign = SIGNS[role] ?? "";
    const score = role === NO_ROLE ? "" : `, ${scoreOf(role)(at).toFixed(2)}`;
    const shown = scoreOf(state.role)(at);
    const text = state.role ? `${at[0] + 1}–${at[1] + 1}: ${shown?.toFixed(2)}` : side >= 70 && sign ? `${sign} ${role}` : sign;
    Object.assign(button.lastChild, { textContent: text, className: role === "broad" ? "faint" : "" });
    button.lastChild.style.width = button.firstChild.style.width = button.firstChild.style.height = `${side}px`;
    button.title = `${title(...at)}: ${role}${score}`;
    button.setAttribute("aria-label", button.title);
  };

  // The brightest byte of the given heads, of the tokens kept. One scale for the trained heads and their control:
  // a dim control is a finding, not a lack of contrast.
  const strongest = (weights, from, to, keep) => {
    let most = 1;
    for (let at = from; at < to; at += count * count)
      for (const i of keep) for (const j of keep) most = Math.max(most, weights[at + i * count + j]);
    return most;
  };
  const topOf = (keep) => {
    if (state.scale === "row") return () => 0;
    if (state.scale === "head") return (at) => strongest(set().weights, at, at + 1, keep);
    const most = Math.max(...model.sets.map(({ weights }) => strongest(weights, 0, weights.length, keep)));
    return () => most;
  };
  const drawThumbs = (keep, top) => {
    const size = Math.round(side * (window.devicePixelRatio || 1));
    for (const spot of order) {
      const at = offset(...spot);
      paint(thumb(spot).firstChild, set().weights, at, count, keep, top(at), size);
    }
  };
  const press = () => {
    const on = thumb(now()), first = order.some((at) => thumb(at) === on) || !order.length ? on : thumb(order[0]);
    thumbs.forEach((button) => {
      button.setAttribute("aria-pressed", button === on);
      button.tabIndex = button === first ? 0 : -1;
    });
  };

  const drawFull = (keep, top) => {
    const [layer, head] = now(), at = offset(layer, head), name = title(layer, head);
    const shown = seen(set().weights, at, tokens, keep), inArcs = state.arcs && count <= ARC_LIMIT;
    const say = (text) => { said.textContent = text; };
    const who = state.control && model.sets.length > 1 ? "random weights, nothing learnt" : model.name;
    const how = inArcs ? "Each token on the left looks at tokens on the right." : "Each row is a token that looks, each column one looked at.";
    const room = full.clientWidth || 440, draw = (canvas) => paint(canvas, set().weights, at, count, keep, top(at));
    full.replaceChildren(make("h4", { textContent: `L${name.slice(1)} (${who})` }), make("p", { className: "muted", textContent: how }),
      inArcs ? arcs(shown, name, room, say) : matrix(shown, name, room, draw, say), said);
    say(shown.loudest);
    const control = model.sets[1]?.scores[layer][head];
    bars.replaceChildren(make("h4", { textContent: `Where L${name.slice(1)} looks`.replace("L", "l") }),
      ...roleBars(roles, set().scores[layer][head], set().best[layer][head], control, model.uniform));
  };
  const drawLegend = (most) => {
    const scope = { all: "one scale for all heads", head: "each head on its own scale", row: "in each row the strongest is brightest" }[state.scale];
    const hidden = state.specials ? "" : " [CLS] and [SEP] are hidden: the colours are stretched over what remains, the weights stay as they are.";
    const ramp = make("div", { className: "ramp" });
    ramp.style.background = `linear-gradient(90deg, ${CIVIDIS.map((c) => "#" + c)})`;
    legend.replaceChildren("0", ramp, most ? share(most) : "most",
      make("span", { className: "muted", textContent: `attention weight, ${scope}.${hidden}` }));
  };

  let top;
  const draw = (headOnly = false) => {
    const keep = Uint16Array.from(tokens.keys()).filter((i) => state.specials || !special[i]);
    if (!headOnly) {
      top = topOf(keep);
      choose();
      drawChips();
      drawGrid();
      drawThumbs(keep, top);
    }
    press();
    drawFull(keep, top);
    drawLegend(top(offset(...now())));
  };
  return { node, draw };
};

// All heads of one model: roles to choose heads by, and a thumbnail for each head. See attention.js.

const NO_ROLE = "no role", NEAREST = 4, LARGEST = 84; // heads shown where none plays a role; pixels of a thumbnail
const NAMING = "A head has a role if more than half of its weight goes there, averaged over the words of this text.";
const READING = "Each square is one head; bright is a large weight. Click one, or use the arrow keys.";
const SIGNS = { previous: "←", next: "→", itself: "↺", "[CLS]": "C", "[SEP]": "S", "same word": "=",
  punctuation: ".", "[CLS] + [SEP]": "CS", broad: "≈" };
const BRIEF = { "same word": "same", punctuation: "marks", "[CLS] + [SEP]": "rests" }; // what fits below a thumbnail
const TARGETS = { previous: "the previous token", next: "the next token", itself: "itself", "same word": "the same word elsewhere",
  "[CLS] + [SEP]": "[CLS] and [SEP], at rest", broad: "all tokens alike", [NO_ROLE]: "none of these" };

const titleOf = ([layer, head]) => `layer ${layer + 1}, head ${head + 1}`;
const same = (one, other) => one[0] === other[0] && one[1] === other[1];

// A model's heads as the user wants to see them: which is chosen, which weights count, which roles they play.
const outlook = (model, roles, state) => {
  const { layers, heads, tokens } = model, special = tokens.map((token) => token === "[CLS]" || token === "[SEP]");
  const every = Array.from({ length: layers * heads }, (_, n) => [Math.floor(n / heads), n % heads]);
  const set = () => model.sets[state.control ? model.sets.length - 1 : 0];
  const roleOf = ([layer, head]) => roles[set().best[layer][head]] ?? NO_ROLE;
  const score = ([layer, head], role) => (role === NO_ROLE ? 0 : set().scores[layer][head][roles.indexOf(role)]);
  const playing = (role) => every.filter((at) => roleOf(at) === role);
  // The heads of a role, the strongest first; where there is none, the nearest. All heads by layer for no role.
  const ordered = (role) => {
    if (!role) return every;
    const those = playing(role), able = role === NO_ROLE ? [] : every.filter((at) => score(at, role) !== null);
    return (those.length ? those : able).sort((a, b) => score(b, role) - score(a, role)).slice(0, those.length || NEAREST);
  };
  return {
    model, special, roles, every, set, roleOf, score, playing, ordered,
    chosen: () => [clamp(state.layer, layers), clamp(state.head, heads)],
    offset: ([layer, head]) => (layer * heads + head) * tokens.length ** 2,
    keep: () => Uint16Array.from(tokens.keys()).filter((i) => state.specials || !special[i]),
  };
};

// The largest of the weights kept, in the heads that begin from `from` to before `to`.
const strongest = (weights, from, to, count, keep) => {
  let most = 1;
  for (let at = from; at < to; at += count * count)
    for (const i of keep) for (const j of keep) most = Math.max(most, weights[at + i * count + j]);
  return most;
};

// For each head the byte that is drawn brightest; 0 stands for each row on its own scale. One scale for all models and
// their controls: a dim control is a finding, not a lack of contrast.
const brightest = (all, scale) => {
  if (scale === "row") return () => 0;
  if (scale === "head") return ({ model, set, keep }, at) => strongest(set().weights, at, at + 1, model.tokens.length, keep());
  const most = ({ model, keep }) => model.sets.map(({ weights }) => strongest(weights, 0, weights.length, model.tokens.length, keep()));
  const top = Math.max(...all.flatMap(most));
  return () => top;
};

const named = (role) => `${SIGNS[role] ?? ""} ${TARGETS[role] ?? role}`.trim(); // the signs stand below the heads

// The field to choose heads by their role, with the number of heads that play it.
const makeChoice = (heads, state, change) => {
  const field = make("select", { title: NAMING });
  field.onchange = () => {
    const role = field.value, [layer, head] = (role && heads.ordered(role)[0]) || heads.chosen();
    change({ layer, head, role });
  };
  const option = (value, text, count) => make("option", { value, textContent: `${text} (${count})` });
  const draw = () => {
    field.replaceChildren(option("", "anything", heads.every.length),
      ...[...heads.roles, NO_ROLE].map((role) => option(role, named(role), heads.playing(role).length)));
    field.value = state.role;
  };
  return { node: make("label", { className: "choice" }, "Heads that attend to", field), draw };
};

const makeGrid = (heads, state, change, width) => {
  const { layers, heads: across, tokens } = heads.model, many = across > 6;
  const note = make("p", { className: "muted" }), grid = make("div", { className: "grid" });
  grid.setAttribute("role", "group");
  grid.setAttribute("aria-label", "Attention heads; arrow keys move");
  const thumbs = heads.every.map((at) => {
    const button = make("button", { type: "button", className: "thumb" }, make("canvas"), make("span"));
    button.onclick = () => change({ layer: at[0], head: at[1] }, true);
    button.onkeydown = (event) => step(event, at);
    return button;
  });
  const thumb = ([layer, head]) => thumbs[layer * across + head];
  const step = (event, at) => {
    const move = MOVES[event.key], order = heads.ordered(state.role);
    if (!move) return;
    event.preventDefault();
    const next = state.role ? order[clamp(order.findIndex((other) => same(at, other)) + move[0] + move[1], order.length)]
      : [clamp(at[0] + move[0], layers), clamp(at[1] + move[1], across)];
    change({ layer: next[0], head: next[1] }, true);
    thumb(next).focus();
  };

  const byLayer = (narrow) => {
    const edge = (textContent) => make("span", { className: "edge", textContent });
    const line = (layer) => thumbs.slice(layer * across, (layer + 1) * across);
    const lines = Array.from({ length: layers }, (_, layer) => [edge(narrow ? layer + 1 : `Layer ${layer + 1}`), ...line(layer)]);
    return [edge(""), ...Array.from({ length: across }, (_, head) => edge(head + 1)), ...lines.flat()];
  };
  const caption = (at, side) => {
    const button = thumb(at), role = heads.roleOf(at), sign = SIGNS[role] ?? "";
    const ranked = state.role && `${at[0] + 1}–${at[1] + 1}: ${heads.score(at, state.role).toFixed(2)}`;
    const textContent = ranked || (side >= 70 && sign ? (role.startsWith("[") ? role : `${sign} ${BRIEF[role] ?? role}`) : sign);
    Object.assign(button.lastChild, { textContent, className: role === "broad" ? "faint" : "" });
    button.lastChild.style.width = button.firstChild.style.width = button.firstChild.style.height = `${side}px`;
    button.title = `${titleOf(at)}: ${role}${role === NO_ROLE ? "" : `, ${heads.score(at, role).toFixed(2)}`}`;
    button.setAttribute("aria-label", button.title);
  };
  const tell = (order) => {
    const found = heads.playing(state.role).length;
    const signs = heads.roles.filter((role) => heads.playing(role).length).map(named);
    note.textContent = !state.role ? `${READING}${signs.length ? ` Below: ${signs.join("; ")}.` : ""}`
      : found ? `${found} of ${heads.every.length} heads, strongest first. Below each: layer–head, share of its weight.`
        : order.length ? "No head gives this more than half of its weight. The nearest:" : "This text has no head to show here.";
  };
  const draw = (keep, top) => {
    const room = width(), narrow = many || room < 380, order = heads.ordered(state.role);
    const fitting = Math.floor((room - (narrow ? 24 : 66)) / across) - 5;
    const side = state.role ? LARGEST : Math.max(18, Math.min(LARGEST, fitting));
    grid.classList.toggle("sorted", Boolean(state.role));
    grid.style.gridTemplateColumns = `auto repeat(${across}, auto)`;
    grid.replaceChildren(...(state.role ? order.map(thumb) : byLayer(narrow)));
    tell(order);
    const size = Math.round(side * (window.devicePixelRatio || 1));
    for (const at of order) {
      caption(at, side);
      paint(thumb(at).firstChild, heads.set().weights, heads.offset(at), tokens.length, keep, top(heads.offset(at)), size);
    }
  };
  const press = () => {
    const on = thumb(heads.chosen()), order = heads.ordered(state.role).map(thumb);
    const entry = order.includes(on) ? on : order[0]; // what the Tab key reaches
    thumbs.forEach((button) => {
      button.setAttribute("aria-pressed", button === on);
      button.tabIndex = button === entry ? 0 : -1;
    });
  };
  return { nodes: [grid, note], draw, press };
};

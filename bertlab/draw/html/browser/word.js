// One word on its way through a BERT, as a picture that plays, stops, steps and is scrubbed. component.py puts the CSS,
// shared.js and word_picture.js before it; pack() in word.py makes the bytes, which are JSON. All numbers and sentences
// come from there.
//
// `time` runs from 0 to the number of stations; station k has been passed when time is k + 1.

const headerOf = (bytes) => new TextDecoder().decode(bytes);
const SECONDS = 1.7, MANY = 6, SECONDS_OF_MANY = 1.1; // at a station; where there are more than MANY layers

export function mount(root, bytes, view, onView) {
  const data = JSON.parse(headerOf(bytes)), still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const last = data.stations.length, speed = 1 / (data.layers > MANY ? SECONDS_OF_MANY : SECONDS);
  const state = { time: still ? last : 0, random: false, playing: false, pointed: null };
  const said = make("p", { className: "said" });
  const name = make("b"), text = make("span"), link = make("a");
  said.setAttribute("aria-live", "polite");
  said.append(name, " ", text, " ", link);
  let picture;
  const now = () => clamp(Math.ceil(state.time) - 1, last);
  const tell = () => {
    const k = state.pointed?.station ?? now(), [href, page] = data.links[k] ?? [];
    name.textContent = `${data.stations[k]}.`;
    text.textContent = state.pointed?.text ?? picture.set.said[k];
    Object.assign(link, { href: href ?? "", textContent: href ? `${page} →` : "", hidden: !href });
  };
  const point = (pointed) => { state.pointed = pointed; tell(); };
  const seek = (time) => {
    const before = now();
    picture.seek(state.time, time);
    state.time = time;
    controls.follow(time, now());
    if (now() !== before || time === 0) point(null);
  };
  const jump = (station) => { play(false); seek(clamp(station, last) + 1); };
  const play = (on) => {
    if (on === state.playing) return;
    state.playing = on;
    said.setAttribute("aria-live", on ? "off" : "polite");
    controls.playing(on);
    if (!on) return;
    if (state.time >= last) seek(0);
    let clock = state.time, before = null;
    const frame = (stamp) => {
      if (!state.playing || !root.contains(said)) return;
      clock += before === null ? 0 : Math.min(0.1, (stamp - before) / 1000) * speed;
      before = stamp;
      const time = Math.min(last, still ? Math.ceil(clock) : clock); // without motion it goes from station to station
      if (time !== state.time) seek(time);
      if (clock >= last) play(false);
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  };
  const controls = makeControls(data, { play: () => play(!state.playing), step: (by) => jump(now() + by), jump,
    seek: (time) => { play(false); seek(time); }, swap: (random) => { state.random = random; build(); } });
  const stage = make("div", { className: "stage" });
  const build = () => {
    const set = data.sets[state.random ? 1 : 0];
    picture = makePicture(stage, data, set, root.clientWidth, { jump, point, follow: (position) => onView({ follow: position }) });
    picture.seek(0, state.time, true);
    point(null);
  };
  root.replaceChildren(make("style", { textContent: CSS }), make("div", { className: "word" }, controls.node, said, stage));
  root.ontransitionend = (event) => { if (event.target.className === "word") picture.repaint(); }; // another theme: see word.css
  build();
  controls.follow(state.time, now());
  followWidth(root, build);
  if (!still) play(true);
}

const makeControls = (data, { play, step, jump, seek, swap }) => {
  const last = data.stations.length, button = (label, sign, act) => {
    const made = make("button", { type: "button", title: label, textContent: sign, onclick: act });
    made.setAttribute("aria-label", label);
    return made;
  };
  const main = make("button", { type: "button", className: "play", textContent: "▶ Play", onclick: play });
  const range = make("input", { type: "range", min: 0, max: last, step: 0.01 });
  range.setAttribute("aria-label", "How far the word has come");
  range.oninput = () => seek(+range.value);
  range.onkeydown = (event) => {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key], end = { Home: 0, End: last - 1 }[event.key];
    if (by === undefined && end === undefined) return;
    event.preventDefault();
    if (by) step(by);
    else jump(end);
  };
  const node = make("div", { className: "bar" }, main, button("One station back", "|◀", () => step(-1)),
    button("One station on", "▶|", () => step(1)), range);
  if (data.sets.length > 1) {
    const box = make("input", { type: "checkbox" });
    box.onchange = () => swap(box.checked);
    node.append(make("label", {}, box, "Random weights"));
  }
  const follow = (time, station) => {
    range.value = time;
    range.setAttribute("aria-valuetext", data.stations[station]);
  };
  return { node, follow, playing: (on) => { main.textContent = on ? "❚❚ Stop" : "▶ Play"; } };
};

// The stage: stations above, tokens at the left, the canvas, and below it what would be guessed after each layer. Only
// the picture scrolls where it is wider than its room; while it plays it follows the word.
const makePicture = (stage, data, set, room, { jump, point, follow }) => {
  const place = geometry(data, room), canvas = make("canvas"), last = data.stations.length;
  const paint = painter(canvas, data, set, place), left = (k) => `left:${place.columns[k].left}px;width:${place.columns[k].width}px`;
  const stations = data.stations.map((name, k) => {
    const station = make("button", { type: "button", className: "station", textContent: name, style: k ? left(k) : "" });
    station.onclick = () => jump(k);
    station.onmouseenter = station.onfocus = () => point({ station: k });
    station.onmouseleave = station.onblur = () => point(null);
    station.onkeydown = (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!by) return;
      event.preventDefault();
      jump(k + by);
      stations[clamp(k + by, last)].focus();
    };
    return station;
  });
  const labels = data.tokens.map((token, row) => label(data, row, follow));
  const guesses = set.lens.map(([token, percent], layer) => make("span", { className: "lens", style: left(layer + 1),
    title: `${token} ${percent}` }, make("b", { textContent: token, dir: "auto" }), make("small", { textContent: percent })));
  const height = `height:${place.height}px;padding-top:${place.top}px;grid-auto-rows:${place.row}px;font-size:${Math.min(14, place.row - 2)}px`;
  const side = make("div", { className: "side", style: `width:${place.labels}px` }, stations[0],
    make("div", { className: "labels", style: height }, ...labels), make("small", { textContent: "guess so far" }));
  const world = make("div", { className: "world", style: `width:${place.world}px` },
    make("div", { className: "stations" }, ...stations.slice(1)), canvas, make("div", { className: "lenses" }, ...guesses));
  const pan = make("div", { className: "pan" }, world);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `[MASK] on its way through the ${data.layers} layers of ${data.name}; each station says its numbers.`);
  canvas.onpointermove = canvas.onpointerdown = (event) => point(paint.told(event.offsetX, event.offsetY));
  canvas.onpointerleave = () => point(null);
  stage.replaceChildren(make("div", { className: "scene" }, side, pan), legend(data, paint.brightest));

  // Words and stations change only now and then: touching them in each frame would cost more than the painting.
  const guess = set.guesses[0][0], own = labels[data.followed].firstChild, view = pan.clientWidth;
  let at = 0, shown = "";
  const mark = (to) => {
    const now = clamp(Math.ceil(to) - 1, last), read = Math.ceil(Math.min(1, to) * labels.length), found = to >= last;
    const told = guesses.filter((_, layer) => to > layer + 1.8).length, marks = [now, Math.floor(to), read, told].join();
    if (marks === shown) return;
    shown = marks;
    stations.forEach((node, k) => {
      node.className = `station ${to >= k + 1 ? "done" : ""} ${k === now ? "now" : ""}`;
      node.tabIndex = k === now ? 0 : -1;
    });
    labels.forEach((node, row) => node.classList.toggle("in", row < read));
    guesses.forEach((node, layer) => node.classList.toggle("in", layer < told));
    own.textContent = found ? guess : data.tokens[data.followed];
    labels[data.followed].classList.toggle("found", found);
  };
  const seek = (from, to, all = false) => {
    at = to;
    if (all) paint.look();
    for (let k = 0; k < last; k++)
      if (all || (k + 1 >= Math.min(from, to) && k <= Math.max(from, to))) paint.station(k, within(to, k, k + 1));
    mark(to);
    const k = Math.min(last - 1, Math.floor(to)), column = place.columns[k];
    if (place.world > view && !all) pan.scrollLeft = column.left + column.width * within(to, k, k + 1) - view * 0.72;
  };
  const repaint = () => seek(0, at, true);
  return { seek, repaint, set };
};

const label = (data, row, follow) => {
  const token = data.tokens[row], pressable = data.choose && row !== data.followed && !["[CLS]", "[SEP]"].includes(token);
  const node = make(pressable ? "button" : "span", { className: `token ${row === data.followed ? "followed" : ""}`, title: token },
    make("bdi", { textContent: token }));
  if (!pressable) return node;
  Object.assign(node, { type: "button", title: `Mask “${token}” and follow it`, onclick: () => follow(data.positions[row]) });
  return node;
};

const legend = (data, brightest) => {
  const ramp = make("i", { className: "ramp", style: `background: linear-gradient(90deg, ${CIVIDIS.map((c) => "#" + c)})` });
  const key = (fill, name) => make("span", {}, make("i", { className: "key", style: `background: ${fill}` }), name);
  const note = make("div", { className: "legend" },
    make("span", {}, "attention of each head 0 ", ramp, ` ${brightest.toFixed(2)}`),
    make("span", {}, "lengths: ", key(BLUE, "word"), " ", key(ORANGE, "position"), " ", key(GREEN, "segment")),
    make("span", {}, "band: first numbers of the residual stream, ", key(BLUE, "above 0"), " ", key(ORANGE, "below")));
  if (data.folded) note.append(make("span", { textContent: `drawn: ${data.folded}` }));
  return note;
};

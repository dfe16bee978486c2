// What the moving picture of one word shows: where everything lies, and each station painted as far as it has come.
// See word.js.

const BLUE = "#0072b2", ORANGE = "#e69f00", GREEN = "#009e73"; // word, position, segment; above and below 0
const SEEN = 0.02; // an attention weight that is drawn as a curve
const BAND = 11, STRIPE = 3; // height of the residual stream; width of one of its numbers

const colour = (weight) => `rgb(${[0, 8, 16].map((by) => (PALETTE[Math.round(255 * Math.min(1, weight))] >> by) & 255)})`;
const within = (u, from, to) => Math.max(0, Math.min(1, (u - from) / (to - from)));
const ease = (u) => u * u * (3 - 2 * u);

// Pixels: `labels` beside the picture, then one column a station from the embeddings on (`columns[0]` is the labels').
const geometry = (data, room) => {
  const { layers, heads, tokens } = data, narrow = room < 640, guesses = data.sets[0].guesses.length;
  const longest = Math.max(...tokens.map((token) => [...token].length));
  const labels = Math.min(narrow ? 88 : 116, 28 + 8 * longest), embeddings = narrow ? 86 : 98, logits = 142, guess = 104;
  const layer = Math.max(narrow ? 84 : 62, Math.min(168, (room - labels - embeddings - logits - guess) / layers));
  const widths = [labels, embeddings, ...Array(layers).fill(layer), logits, guess];
  const columns = widths.map((width, k) => ({ width, left: widths.slice(1, k).reduce((sum, w) => sum + w, 0) }));
  const row = Math.max(14, Math.min(24, Math.floor(296 / tokens.length)));
  const height = Math.max(row * tokens.length, 22 * guesses) + 8, top = (height - row * tokens.length) / 2;
  const y = (number) => top + row * (number + 0.5), line = Math.min(22, (height - 8) / guesses);
  const first = Math.max(4, Math.min(height - line * guesses - 4, y(data.followed) - (line * guesses) / 2));
  const cell = Math.max(2, Math.min(11, Math.floor((layer * 0.42) / heads)));
  return { columns, row, height, top, y, cell, labels, world: columns.at(-1).left + guess,
    block: cell * heads, node: layer - 13, guessY: (number) => first + line * (number + 0.5) };
};

// A painter of one set of numbers (trained or random weights). station(k, u) paints column k, u = 0 not reached, 1 done.
const painter = (canvas, data, set, place) => {
  const { columns, y, row, cell, block, node } = place, { tokens, followed, layers } = data, pen = canvas.getContext("2d");
  const dots = window.devicePixelRatio || 1, lane = y(followed);
  canvas.width = Math.round(place.world * dots);
  canvas.height = Math.round(place.height * dots);
  canvas.style.cssText = `width:${place.world}px;height:${place.height}px`;
  const brightest = Math.max(...data.sets.flatMap((one) => one.attention.flat(2)));
  const longest = Math.max(...set.norms.flat()), largest = Math.max(...set.states.flat().map(Math.abs));
  const shades = set.attention.map((heads) => heads.map((head) => head.map((weight) => colour(weight / brightest))));
  const mean = set.attention.map((heads) => tokens.map((_, j) => heads.reduce((sum, head) => sum + head[j], 0) / heads.length));
  let ink, accent, font;
  const bar = (x, at, width, high, fill) => { pen.fillStyle = fill; pen.fillRect(x, at - high / 2, width, high); };
  const ball = (x, at, radius, fill) => { pen.fillStyle = fill; pen.beginPath(); pen.arc(x, at, radius, 0, 7); pen.fill(); };
  const faint = (alpha, draw) => { pen.globalAlpha = alpha; draw(); pen.globalAlpha = 1; };
  const rails = (from, to) => faint(0.16, () => tokens.forEach((_, j) => bar(from, y(j), to - from, 1, ink)));

  // The numbers of the state after `layer`, which begin at `start`, between two points.
  const band = (layer, start, from, to) => {
    faint(0.1, () => bar(from, lane, to - from, BAND, ink));
    const numbers = set.states[layer];
    for (let n = Math.max(0, Math.floor((from - start) / STRIPE)); n < numbers.length && start + n * STRIPE < to; n++) {
      const x = Math.max(from, start + n * STRIPE), width = Math.min(to, start + (n + 1) * STRIPE - 0.5) - x;
      if (width > 0) faint(Math.min(1, Math.abs(numbers[n] / largest) ** 0.6), () => bar(x, lane, width, BAND, numbers[n] > 0 ? BLUE : ORANGE));
    }
  };
  const starts = (layer) => (layer ? columns[layer + 1].left + node + 7 : columns[1].width - 8);

  const embeddings = ({ left, width }, u) => {
    const room = width - 26, gap = row / 4.2, sum = left + width - 16;
    tokens.forEach((_, j) => [BLUE, ORANGE, GREEN].forEach((fill, part) => {
      const long = (set.norms[part][j] / longest) * room * ease(within(u, 0.12 * part, 0.4 + 0.12 * part));
      const joined = ease(within(u, 0.65, 0.85)); // the three come together
      bar(left + 6, y(j) + (part - 1) * gap * (1 - 0.25 * joined), long, Math.max(2, gap - 1.2), fill);
    }));
    faint(ease(within(u, 0.75, 0.95)), () => tokens.forEach((_, j) => ball(sum, y(j), j === followed ? 4.5 : 2.2, j === followed ? accent : ink)));
    if (u === 1) rails(sum, left + width);
    if (u === 1) band(0, starts(0), starts(0), left + width);
  };

  const layerAt = (layer, { left, width }, u) => {
    const from = left + 5 + block, to = left + node, bend = (to - from) / 2;
    rails(left, left + width * (u > 0 ? 1 : 0));
    band(layer, starts(layer), left, left + node * ease(within(u, 0, 0.3)));
    const gather = ease(within(u, 0.35, 0.8));
    mean[layer].forEach((weight, j) => {
      if (weight < SEEN || !gather) return;
      faint(Math.min(0.9, 0.22 + weight) * gather, () => {
        pen.strokeStyle = accent;
        pen.lineWidth = 0.7 + 7 * weight;
        pen.beginPath();
        pen.moveTo(from, y(j));
        pen.bezierCurveTo(from + bend, y(j), from + bend, lane, to, lane);
        pen.stroke();
      });
      if (gather === 1) return;
      const t = gather, s = 1 - t, x = s ** 3 * from + 3 * s * t * (from + bend) + t ** 3 * to;
      ball(x, (s ** 3 + 3 * s * s * t) * y(j) + (3 * s * t * t + t ** 3) * lane, 2 + 5 * Math.sqrt(weight), accent);
    });
    const looked = within(u, 0, 0.4) * set.attention[layer].length;
    set.attention[layer].forEach((head, a) => {
      if (looked > a) faint(within(looked, a, a + 1), () => head.forEach((_, j) =>
        bar(left + 5 + a * cell, y(j), cell - (cell > 4 ? 1 : 0), row - 1, shades[layer][a][j])));
    });
    const done = ease(within(u, 0.78, 1));
    if (done) ball(to, lane, 6.5 * done, accent);
    if (done) band(layer + 1, starts(layer + 1), starts(layer + 1), starts(layer + 1) + (left + width - starts(layer + 1)) * done);
  };

  const fitting = (text, room) => {
    if (pen.measureText(text).width <= room) return text;
    let short = [...text];
    while (short.length && pen.measureText(`${short.join("")}…`).width > room) short.pop();
    return `${short.join("")}…`;
  };
  const write = (text, x, at, align, weight = 400) => {
    Object.assign(pen, { fillStyle: ink, font: `${weight} 13px ${font}`, textAlign: align, textBaseline: "middle" });
    pen.fillText(text, x, at);
  };
  const logits = ({ left, width }, u) => {
    if (u > 0) band(layers, starts(layers), left, left + 10 * within(u, 0, 0.2));
    set.guesses.forEach(([token, logit], n) => {
      const at = place.guessY(n), grown = ease(within(u, 0.15 + 0.03 * n, 0.55 + 0.03 * n)), x = left + 10 + 16 * grown;
      if (!grown) return;
      faint(0.35, () => {
        Object.assign(pen, { strokeStyle: ink, lineWidth: 1 });
        pen.beginPath();
        pen.moveTo(left + 10, lane);
        pen.bezierCurveTo(left + 18, lane, left + 18, lane + (at - lane) * grown, x, lane + (at - lane) * grown);
        pen.stroke();
      });
      faint(within(u, 0.6, 0.9), () => {
        write(logit, left + width - 6, at, "right");
        const room = width - 44 - pen.measureText(logit).width;
        write(fitting(token, room), left + 32, at, "left", n ? 400 : 700);
      });
    });
  };
  const guess = ({ left, width }, u) => set.guesses.forEach(([, , p, said], n) => {
    const long = (width - 52) * p * ease(within(u, 0, 0.7));
    if (u) bar(left, place.guessY(n), Math.max(1, long), 12, n ? ORANGE : BLUE);
    faint(within(u, 0.4, 0.8), () => write(said, left + Math.max(1, long) + 6, place.guessY(n), "left", n ? 400 : 700));
  });

  const station = (k, u) => {
    const column = columns[k];
    if (!k) return;
    pen.setTransform(dots, 0, 0, dots, 0, 0);
    pen.save();
    pen.beginPath();
    pen.rect(column.left, 0, column.width, place.height);
    pen.clip();
    pen.clearRect(column.left, 0, column.width, place.height);
    if (k === 1) embeddings(column, u);
    else if (k < layers + 2) layerAt(k - 2, column, u);
    else (k === layers + 2 ? logits : guess)(column, u);
    pen.restore();
  };
  const look = () => {
    const style = getComputedStyle(canvas);
    ({ color: ink, fontFamily: font } = style);
    accent = style.getPropertyValue("--accent").trim() || BLUE;
  };
  // Which cell of a layer lies at (x, at), in its own words.
  const told = (x, at) => {
    const j = Math.floor((at - place.top) / row), layer = columns.findIndex(({ left, width }, k) => k > 1 && x >= left && x < left + width) - 2;
    const head = layer < 0 || layer >= layers ? -1 : Math.floor((x - columns[layer + 2].left - 5) / cell);
    if (head < 0 || head >= data.heads || !(j in tokens)) return null;
    const weight = set.attention[layer][head][j].toFixed(2);
    return { station: layer + 2, text: `Layer ${layer + 1}, head ${head + 1}: [MASK] attends to “${tokens[j]}” with weight ${weight}.` };
  };
  return { station, look, told, brightest };
};

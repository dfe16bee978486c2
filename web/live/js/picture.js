// The page as one picture: the sentence, the guesses, the head that is enlarged, and which model answered.

import { colour } from "./dom.js";
import { fullBar, probability, shown } from "./guesses.js";
import { lines, positions } from "./heads.js";

const WIDTH = 1200, MARGIN = 48, LINE = 44, BAR = 34, STEP = 28;
const FONT = "system-ui, sans-serif";
const NAMES = ["paper", "text", "quiet", "ink", "bar", "more", "less"];

let colours = {}; // those of the page as it is drawn now
const css = (name, opacity = 1) => `rgb(${colours[name].join(" ")} / ${opacity})`;

// Words in lines that fit: three of them, then an ellipsis.
function wrapped(pen, text, width) {
  const rows = [""];
  for (const word of text.split(" ")) {
    if (pen.measureText(`${rows.at(-1)} ${word}`).width > width) rows.push(word);
    else rows[rows.length - 1] = `${rows.at(-1)} ${word}`.trim();
  }
  return rows.length > 3 ? [rows[0], rows[1], `${rows[2]} …`] : rows;
}

function write(pen, text, x, y, { size = 20, name = "text", align = "left", bold = false } = {}) {
  pen.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
  pen.textAlign = align;
  pen.fillStyle = css(name);
  pen.fillText(text, x, y);
}

function sentence(pen, title, text, x, y, width) {
  write(pen, title, x, y, { size: 18, name: "quiet" });
  pen.font = `600 30px ${FONT}`;
  const rows = wrapped(pen, text, width);
  rows.forEach((row, i) => write(pen, row, x, y + LINE * (i + 0.9), { size: 30, bold: true }));
  return y + LINE * (rows.length + 0.6);
}

function bars(pen, fill, before, full, x, y, width) {
  const word = 150, value = 80, track = width - word - value;
  for (const [token, p] of shown(fill)) {
    const old = before && probability(before, token);
    write(pen, token, x + word - 12, y + 22, { align: "right" });
    pen.fillStyle = css(old === undefined ? "bar" : p > old ? "more" : "less");
    pen.fillRect(x + word, y + 5, Math.max(2, (track * p) / full), 22);
    if (old !== undefined) {
      pen.fillStyle = css("text");
      pen.fillRect(x + word + (track * Math.min(old, full)) / full, y + 2, 2, 28);
    }
    write(pen, `${(100 * p).toFixed(1)}%`, x + width, y + 22, { align: "right" });
    y += BAR;
  }
  return y + 12;
}

function column(pen, { title, text, answer, before, full }, x, width) {
  let y = sentence(pen, title, text, x, MARGIN + 10, width);
  answer.fills.forEach((fill, m) => { y = bars(pen, fill, before?.fills[m], full, x, y, width); });
  return y;
}

function head(pen, answer, n, special, y) {
  const kept = positions(answer, special), left = WIDTH / 2 - 120, right = WIDTH / 2 + 120, place = (row) => y + (row + 0.5) * STEP;
  for (const { from, to, p } of lines(answer, n, kept)) {
    pen.strokeStyle = css("ink", p);
    pen.lineWidth = 3;
    pen.beginPath();
    pen.moveTo(left + 8, place(from));
    pen.lineTo(right - 8, place(to));
    pen.stroke();
  }
  kept.forEach((s, row) => {
    write(pen, answer.tokens[s], left, place(row) + 6, { size: 18, align: "right" });
    write(pen, answer.tokens[s], right, place(row) + 6, { size: 18 });
  });
  return y + kept.length * STEP + 24;
}

// sides: one or two of {title, text, answer}; n: the head; footer: a line.
export function drawPicture({ sides, n, seen, special, footer }) {
  colours = Object.fromEntries(NAMES.map((name) => [name, colour(name)]));
  const canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
  const full = fullBar(sides.map(({ answer }) => answer)), width = (WIDTH - MARGIN * (sides.length + 1)) / sides.length;
  const draw = () => {
    const below = Math.max(...sides.map((side, i) => column(pen, { ...side, before: i ? sides[0].answer : undefined, full }, MARGIN + i * (width + MARGIN), width)));
    const y = head(pen, seen, n, special, below + 12);
    write(pen, footer, MARGIN, y + 16, { size: 18, name: "quiet" });
    return y + MARGIN;
  };
  canvas.width = WIDTH;
  canvas.height = draw(); // once to learn how high it is
  pen.fillStyle = css("paper");
  pen.fillRect(0, 0, WIDTH, canvas.height);
  draw();
  return new Promise((resolve) => canvas.toBlob(resolve));
}

// To the clipboard; to a file where the browser does not allow that. Returns which.
export async function give(blob) {
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": blob })]);
    return "copied";
  } catch {
    const anchor = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: "bertlab.png" });
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
    return "saved";
  }
}

// The section of what siblings of the best model were taught: opinion, names, answers, with a text of its own.

import { element, find } from "./dom.js";
import { bar, column } from "./guesses.js";
import { debounced, oneAtATime } from "./timing.js";

const FAINT = 0.001; // answers below are left out

const note = (text) => element("p", { className: "note", textContent: text });
const bars = (shares, say, kind = "") => element("ul", { className: `bars ${kind}` }, ...shares.map((share) => bar(share, undefined, 1, false, say)));

// A text with spans of it marked: {start, end, kind}, the kind in words or none.
function marked(text, spans) {
  let at = 0;
  const parts = spans.flatMap(({ start, end, kind }) => {
    const before = text.slice(at, start), small = kind ? [" ", element("small", { textContent: kind })] : [];
    at = end;
    return [before, element("mark", {}, text.slice(start, end), ...small)];
  });
  return element("p", { className: "marked" }, ...parts, text.slice(at));
}

const DRAW = {
  opinion: ({ classes }, text, say) => [bars(classes.map(([name, p]) => [say.classes[name] ?? name, p]), say)],
  names({ found }, text, say) {
    const spans = found.map((name) => ({ ...name, kind: say.kinds[name.kind] ?? name.kind }));
    return [marked(text, spans), ...(found.length ? [] : [note(say.noNames)])];
  },
  answers: ({ answers, best }, text, say) => [
    marked(text, best ? [best] : []), bars(answers.filter(([, p]) => p > FAINT).map(([words, p]) => [words || say.noAnswer, p]), say, "wide"),
  ],
};

// How sure it is of what it says; of names it is not told.
const SURE = { opinion: ({ classes }) => classes[0][1], answers: ({ answers }) => answers[0][1] };

// How many held-out texts there were, as short or long as this one, about which it was as sure, and how many it got right.
function whenAsSure({ words, bins }, p, text) {
  const short = text.trim().split(/\s+/u).length <= words;
  const here = bins.filter(({ low, high }) => low <= p && (p < high || high === 1));
  return here.find((bin) => bin.short === short) ?? here.find((bin) => bin.short === null);
}

// state: {task, read (the text), asked (the question), random}; siblings and tasks (their examples) as the build wrote them;
// `best` the client of the model that they change, in time; `say` returns the strings, `line` an error in words; `share` writes the link.
export function taughtSection({ state, siblings, tasks, best, name, address, say, share, line }) {
  const sibling = () => siblings.find(({ task }) => task === state.task);

  function runs() {
    const { task, read: text, asked, random } = state, run = { text, question: task === "answers" ? asked : null };
    return random ? [run, { ...run, random }] : [run];
  }

  const solve = oneAtATime(async () => {
    const chosen = sibling(), wanted = runs();
    if (!chosen || !wanted.every(({ text, question }) => text?.trim() && (question === null || question.trim()))) {
      find("task-answer").replaceChildren();
      find("task-status").textContent = "";
      return;
    }
    try {
      const client = await best, start = performance.now();
      const results = await client.solve({ task: chosen.task, version: chosen.version, address: address(chosen) }, wanted);
      if (chosen === sibling()) draw(chosen, wanted[0].text, results, performance.now() - start);
    } catch (error) {
      find("task-status").textContent = line(error);
    }
  });

  function draw({ task, name: by, sure }, text, results, ms) {
    const titles = [by, say().change.random], as = SURE[task] && whenAsSure(sure, SURE[task](results[0]), text);
    const notes = [as ? [note(say().whenAsSure(as))] : [], []];
    find("task-answer").replaceChildren(...results.map((result, side) => column(titles[side], ...DRAW[task](result, text, say()), ...notes[side])));
    find("task-status").textContent = [say().answered(by, ms), results[0].unknown && say().unknown, results[0].cut && say().cut].filter(Boolean).join(" ");
  }

  function drawControls() {
    find("tasks").replaceChildren(...siblings.map(({ task }) => {
      const button = element("button", { type: "button", textContent: say().tasks[task], ariaPressed: task === state.task });
      button.onclick = () => choose(task);
      return button;
    }));
    find("task").hidden = !sibling();
    find("task-about").textContent = sibling() ? say().tasksAbout[state.task] : "";
    find("task-asks").hidden = state.task !== "answers";
    find("task-random").checked = state.random;
    if (find("task-text").value !== state.read) find("task-text").value = state.read ?? "";
    if (find("task-question").value !== state.asked) find("task-question").value = state.asked ?? "";
  }

  // The visitor's own text goes from task to task; an example gives way to the example of the next.
  function choose(task) {
    const own = state.read && Object.values(tasks).every(({ text }) => text !== state.read);
    Object.assign(state, { task, read: own ? state.read : tasks[task].text, asked: state.asked ?? tasks.answers.question });
    find("task-answer").replaceChildren();
    find("task-status").textContent = say().waits(name);
    const focused = find("tasks").contains(document.activeElement);
    update();
    if (focused) find("tasks").querySelector("[aria-pressed=true]").focus();
  }

  function update() {
    drawControls();
    share();
    solve();
  }

  const soon = debounced(update, 150);
  find("task-text").oninput = ({ target }) => { state.read = target.value; soon(); };
  find("task-question").oninput = ({ target }) => { state.asked = target.value; soon(); };
  find("task-asks").onsubmit = (event) => { event.preventDefault(); update(); };
  for (const id of ["taught", "to-taught"]) find(id).hidden = !siblings.length;
  if (sibling()) choose(state.task);
  else drawControls();
  return update;
}

// What the page shows is in its address, and what an address says is only ever read as the few things it may hold.

import { gapsDrawn, gapsRead } from "./sentence.js";

const NUMBER = /^\d{1,3}$/, HEAD = /^\d{1,2}-\d{1,2}$/; // "layer-head", counted from 1 in the link
const LONGEST = 2000;
export const FIRST_HEAD = "4-8"; // of `english`: in the first example what is hidden reads "nurse"
const TASKS = ["opinion", "names", "answers"];

const less = (head) => head.split("-").map((n) => n - 1).join("-");
const more = (head) => head.split("-").map((n) => +n + 1).join("-");

export function readLink(search, languages) {
  const query = new URLSearchParams(search), [word, ...to] = (query.get("swap") ?? "").split(":");
  return {
    text: gapsRead(query.get("text") ?? "").slice(0, LONGEST).replace(/\s+/g, " ").trim(),
    swap: NUMBER.test(word) && to.length ? { word: +word, to: to.join(":").slice(0, 60) } : null,
    off: (query.get("off") ?? "").split(",").filter((head) => HEAD.test(head)).map(less),
    head: HEAD.test(query.get("head")) ? less(query.get("head")) : undefined,
    random: query.get("random") === "1",
    special: query.get("special") !== "0",
    side: query.get("side") === "1" ? 1 : 0,
    guessFirst: query.get("guess") === "1",
    layers: query.get("layers") === "1",
    task: TASKS.find((task) => task === query.get("task")),
    read: query.get("read")?.slice(0, LONGEST),
    asked: query.get("ask")?.slice(0, LONGEST),
    language: Object.hasOwn(languages, query.get("lang")) ? query.get("lang") : undefined,
  };
}

export function writeLink(state) {
  const query = new URLSearchParams({ text: gapsDrawn(state.text) });
  if (state.swap) query.set("swap", `${state.swap.word}:${state.swap.to}`);
  if (state.off.length) query.set("off", state.off.map(more).join(","));
  if (state.head !== FIRST_HEAD) query.set("head", more(state.head));
  const { random, side, guessFirst: guess, layers } = state;
  for (const [name, on] of Object.entries({ random, side, guess, layers })) if (on) query.set(name, 1);
  if (!state.special) query.set("special", 0);
  if (state.task) query.set("task", state.task);
  if (state.task && state.read) query.set("read", state.read);
  if (state.task === "answers" && state.asked) query.set("ask", state.asked);
  query.set("lang", state.language);
  return `?${query}`;
}

// The sentence as words between spaces: hide one, bring it back, put another in its place.

const AFTER = /[.,!?;:"”’)]*$/; // stays where the word is hidden
export const MASK = "[MASK]";

// A gap may be written ___ or [mask]: BERT reads [MASK]. In links and examples gaps are lines, unless two touch.
// __init__ is none. (A look behind would be shorter, and older Safari reads no module that has one.)
export const gapsRead = (text) => text.replace(/\b\w*_{2,}\w*|\[mask\]/gi, (found) => (/^_+$|\[/.test(found) ? MASK : found));
export function gapsDrawn(text) {
  const drawn = text.replaceAll(MASK, "___");
  return gapsRead(drawn) === text ? drawn : text;
}

export const words = (text) => text.split(" ").filter(Boolean);
export const isHidden = (word) => word.includes(MASK);

const withWord = (text, at, word) => words(text).map((old, i) => (i === at ? word : old)).join(" ");

export function hide(text, at) {
  const word = words(text)[at];
  return withWord(text, at, MASK + word.slice(bare(word).length));
}

export function put(text, at, word) {
  return withWord(text, at, words(text)[at].replace(MASK, () => word)); // a $ in it is a dollar
}

// The word alone, without what follows it.
export const bare = (word) => word.replace(AFTER, "") || word;

export function swapped(text, { word, to }) {
  const old = words(text)[word];
  return old === undefined ? text : withWord(text, word, to + old.slice(bare(old).length));
}

// A swap in the words of another text: its word may have moved; if it is gone, so is the swap.
export function moved(swap, before, after) {
  const word = swap && before[swap.word], at = word === after[swap?.word] ? swap?.word : after.indexOf(word);
  return word && at >= 0 ? { ...swap, word: at } : null;
}

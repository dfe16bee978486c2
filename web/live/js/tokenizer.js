// BERT's tokenizer: clean the text, split it at spaces and punctuation, cut each word into the longest known pieces.

import { refuse } from "./refuse.js";

const PUNCTUATION = /[\p{P}!-/:-@[-`{-~]/u; // in ASCII also $ + < = > ^ ` | ~, which Unicode calls symbols
const CHINESE = // the blocks of Chinese characters, each of which is a word
  /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b820}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/u;
const SPACE = /[\t\n\r]|\p{White_Space}/u;
const INVISIBLE = /[\0\ufffd]|\p{Cc}|\p{Cf}|\p{Co}|\p{Cn}/u;
const NAMES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
const SPECIAL = /(\[(?:PAD|UNK|CLS|SEP|MASK)\])/; // typed as they stand, they are tokens
const LONGEST = 100; // letters of a word; a longer one is [UNK]

export class Tokenizer {
  constructor(vocabulary, { do_lower_case = true, strip_accents = null } = {}) {
    this.tokens = vocabulary.replace(/\r?\n$/, "").split(/\r?\n/);
    this.ids = new Map(this.tokens.map((token, id) => [token, id]));
    this.lower = do_lower_case;
    this.strip = strip_accents ?? do_lower_case;
    for (const name of NAMES) if (!this.ids.has(name)) refuse("noToken", name);
    this.mask = this.ids.get("[MASK]");
  }

  clean(text) {
    let kept = "";
    for (const letter of text) {
      if (SPACE.test(letter)) kept += " ";
      else if (CHINESE.test(letter)) kept += ` ${letter} `;
      else if (!INVISIBLE.test(letter)) kept += letter;
    }
    if (this.strip) kept = kept.normalize("NFD").replace(/\p{Mn}/gu, "");
    return this.lower ? kept.toLowerCase() : kept;
  }

  split(text) {
    const words = [""];
    for (const letter of this.clean(text)) {
      if (letter === " ") words.push("");
      else if (PUNCTUATION.test(letter)) words.push(letter, "");
      else words[words.length - 1] += letter;
    }
    return words.filter(Boolean);
  }

  pieces(word) {
    const letters = Array.from(word), found = [];
    if (letters.length > LONGEST) return ["[UNK]"];
    for (let start = 0, end; start < letters.length; start = end) {
      const piece = () => (start ? "##" : "") + letters.slice(start, end).join("");
      for (end = letters.length; end > start && !this.ids.has(piece()); end--);
      if (end === start) return ["[UNK]"];
      found.push(piece());
    }
    return found;
  }

  // At most `limit` tokens, [CLS] and [SEP] among them.
  encode(text, limit) {
    const cut = (part) => this.split(part).flatMap((word) => this.pieces(word));
    const parts = text.split(SPECIAL).flatMap((part) => (SPECIAL.test(part) ? [part] : cut(part)));
    const tokens = ["[CLS]", ...parts.slice(0, limit - 2), "[SEP]"];
    return { tokens, ids: tokens.map((token) => this.ids.get(token)), cut: parts.length > limit - 2 };
  }
}

// BERT's tokenizer: clean the text, split it at spaces and punctuation, cut each word into the longest known pieces.

import { refuse } from "./refuse.js";

const PUNCTUATION = /[\p{P}!-/:-@[-`{-~]/u; // in ASCII also $ + < = > ^ ` | ~, which Unicode calls symbols
const CHINESE = // the blocks of Chinese characters, each of which is a word; 2b920 as in the library tokenizers
  /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/u;
const SPACE = /\p{White_Space}/u;
const INVISIBLE = /(?![\t\n\r])[\ufffd\p{Cc}\p{Cf}\p{Co}]/u; // some of them are white space too
export const NAMES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
const SPECIAL = /(\[(?:PAD|UNK|CLS|SEP|MASK)\])/; // typed as they stand, they are tokens
const MARK = /\p{M}/u;
const QUESTION = 64; // tokens of a question that are read
const LONGEST = 100; // letters of a word; a longer one is [UNK]

export class Tokenizer {
  // options: those of tokenizer_config.json
  constructor(vocabulary, { do_lower_case, strip_accents, tokenize_chinese_chars } = {}) {
    this.tokens = vocabulary.replace(/\r?\n$/, "").split(/\r?\n/);
    this.ids = new Map(this.tokens.map((token, id) => [token, id]));
    this.lower = do_lower_case ?? true;
    this.strip = strip_accents ?? this.lower;
    this.chinese = tokenize_chinese_chars ?? true;
    for (const name of NAMES) if (!this.ids.has(name)) refuse("noToken", name);
    this.mask = this.ids.get("[MASK]");
  }

  clean(letter) { // -> what is read of it: a space, nothing, or one letter or more
    if (INVISIBLE.test(letter)) return "";
    if (SPACE.test(letter)) return " ";
    const kept = this.strip ? letter.normalize("NFD").replace(/\p{Mn}/gu, "") : letter;
    return this.lower ? kept.toLowerCase() : kept;
  }

  // The words of a text, and where each stands in it: {word, start, end}.
  split(text) {
    const words = [];
    let at = 0, open = false; // may the last word go on?
    for (const letter of text) {
      const end = at + letter.length, kept = this.clean(letter);
      if (MARK.test(letter) && words.at(-1)?.end === at) words.at(-1).end = end; // an accent belongs to its letter
      for (const one of kept) {
        const alone = PUNCTUATION.test(one) || (this.chinese && CHINESE.test(one));
        if (one === " ") open = false;
        else if (open && !alone) Object.assign(words.at(-1), { word: words.at(-1).word + one, end });
        else {
          words.push({ word: one, start: at, end });
          open = !alone;
        }
      }
      at = end;
    }
    return words;
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

  // The words of a text in pieces, typed tokens whole, and where each stands: {pieces, start, end}.
  cut(text) {
    let at = 0;
    return text.split(SPECIAL).flatMap((part) => {
      const from = at;
      at += part.length;
      if (SPECIAL.test(part)) return [{ pieces: [part], start: from, end: at }];
      return this.split(part).map(({ word, start, end }) => ({ pieces: this.pieces(word), start: from + start, end: from + end }));
    });
  }

  // [CLS] text [SEP], or [CLS] question [SEP] text [SEP]: at most `limit` tokens. Tokens from position `second` on are of the
  // second segment. Of each word of the text: where it stands, and the positions of its first and last token.
  encode(text, limit, question = null) {
    const asked = this.cut(question ?? "").flatMap(({ pieces }) => pieces).slice(0, QUESTION);
    const tokens = question === null ? ["[CLS]"] : ["[CLS]", ...asked, "[SEP]"], second = question === null ? limit : tokens.length;
    const all = this.cut(text), words = [];
    for (const { pieces, start, end } of all) {
      if (tokens.length + pieces.length >= limit) break;
      words.push({ start, end, first: tokens.length, last: tokens.length + pieces.length - 1 });
      tokens.push(...pieces);
    }
    tokens.push("[SEP]");
    return { tokens, ids: tokens.map((token) => this.ids.get(token)), second, words, cut: words.length < all.length };
  }
}

// A mistake that a visitor can mend: `code` is a name in the errors of strings.js, `about` what stands in its sentence.
export class Refusal extends Error {
  constructor(code, about = "") {
    super(code);
    this.code = code;
    this.about = about;
  }
}

export function refuse(code, about) {
  throw new Refusal(code, about);
}

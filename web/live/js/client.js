// A model in its worker, as the page sees it.

import { Refusal } from "./refuse.js";

// `onProgress` is told how much of the model has come; what an open one loads for a task is small.
export class Client {
  constructor(name, onProgress = () => {}) {
    this.name = name;
    this.waiting = new Map();
    this.worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.worker.onmessage = ({ data }) => (!data.progress ? this.settle(data) : !this.shape && onProgress(data.progress));
    this.worker.onerror = (event) => {
      const refused = { code: "broken", about: event.message ?? "worker" };
      for (const id of this.waiting.keys()) this.settle({ id, refused });
    };
  }

  settle({ id, result, refused }) {
    const [resolve, reject] = this.waiting.get(id);
    this.waiting.delete(id);
    if (refused) reject(new Refusal(refused.code, refused.about));
    else resolve(result);
  }

  call(call, about) {
    return new Promise((...functions) => {
      const id = (this.last = (this.last ?? 0) + 1);
      this.waiting.set(id, functions);
      this.worker.postMessage({ id, call, about });
    });
  }

  async open(about) {
    this.shape = await this.call("open", about);
    return this;
  }

  answer(runs) {
    return this.call("answer", runs);
  }

  // Runs of a task that a sibling was taught: {task, address, version} of its adapter.
  solve(sibling, runs) {
    return this.call("solve", { sibling, runs });
  }

  // What is still asked of it is answered by a refusal that says so.
  close() {
    this.worker.terminate();
    for (const id of [...this.waiting.keys()]) this.settle({ id, refused: { code: "closed" } });
  }
}

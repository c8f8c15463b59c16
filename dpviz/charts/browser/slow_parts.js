// What the server computes beside the page: fetched once the rest of it is drawn.

import { unpacked } from "./columns.js";

const RETRY = 1000; // ms

export class SlowParts {
  // `arrived` is told what is there: a frame, whether more is to come ("more"), whether a part failed. `waiting` is told
  // whether more is on its way.
  constructor(arrived, waiting) {
    Object.assign(this, { arrived, waiting });
    this.token = "";
  }

  // Part after part; what belongs to another answer is of no interest any more.
  async ask(address, token = "") {
    if (token === this.token) return;
    this.stop();
    if (!token) return;
    this.token = token;
    this.waiting(true);
    const { signal } = (this.under = new AbortController());
    let wait = 0; // ms until it is asked for again, null if it is not
    while (wait !== null) {
      if (wait) await new Promise((resolve) => setTimeout(resolve, wait));
      wait = await this.part(`${location.origin}${address}/slow/${token}`, signal).catch(() => RETRY); // gone or busy
      if (signal.aborted) return;
    }
    this.waiting(false);
  }

  async part(address, signal) {
    const reply = await fetch(address, { signal });
    if (reply.status === 204) return 1;
    if (reply.status === 205) return null;
    if (reply.status !== 200) return RETRY;
    const { figure, columns, ...words } = await reply.json();
    if (!signal.aborted) this.arrived({ ...words, figure: figure && unpacked(figure, columns) }); // none where something failed
    return words.more ? 1 : null;
  }

  // Another answer is about to be drawn: parts that are not its own come too late.
  only(token = "") {
    if (token !== this.token) this.stop();
  }

  stop() {
    this.under?.abort();
    this.token = "";
    this.waiting(false);
  }
}

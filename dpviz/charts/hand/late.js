// What the server computes beside the page: fetched once the rest of it is drawn.

import { unpacked } from "./columns.js";

const RETRY = 1000; // ms

export class Late {
  // `arrived` is told what is there: a frame, whether more is to come ("late"), whether a part failed. `waiting` is told
  // whether more is on its way.
  constructor(arrived, waiting) {
    Object.assign(this, { arrived, waiting });
    this.token = "";
    this.under = null; // the request under way
  }

  // What belongs to another answer is of no interest any more.
  ask(address, token = "") {
    if (token === this.token) return;
    this.stop();
    this.token = token;
    this.waiting(Boolean(token));
    if (token) this.fetch(`${location.origin}${address}/late/${token}`);
  }

  async fetch(address) {
    const under = (this.under = new AbortController());
    let again = 0; // ms until it is asked for again, none if it is not
    try {
      const reply = await fetch(address, { signal: under.signal });
      if (reply.status === 200) {
        const { figure, columns, ...told } = await reply.json();
        if (under.signal.aborted) return;
        again = told.late ? 1 : 0;
        this.arrived({ ...told, figure: figure && unpacked(figure, columns) }); // none where something failed
      } else again = reply.status === 204 ? 1 : reply.status === 404 ? 0 : RETRY;
    } catch {
      again = RETRY; // the server is gone or busy
    }
    if (under.signal.aborted) return;
    this.under = null;
    if (!again) return this.waiting(false);
    setTimeout(() => this.token && !this.under && address.endsWith(this.token) && this.fetch(address), again);
  }

  stop() {
    this.under?.abort();
    this.under = null;
    this.token = "";
    this.waiting(false);
  }
}

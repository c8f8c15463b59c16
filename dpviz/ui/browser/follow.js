// A page that goes on changing while somebody looks: what the server made for all who watch is fetched and put in its
// place. Where more than that would be another, the page runs again.

import { made, mounting } from "./dom.js";
import { head } from "./over.js";

const AGAIN = 1500; // ms in which a page that was asked to run again has come
const RETRY = 1000; // ms after which a server that did not answer is asked again, or a page that nobody sees
const NEVER = 0; // ms between two looks at what goes on no longer: one look puts right what came late

export class Follower {
  constructor(parent) {
    this.root = made("div", "dpviz-follow", parent);
  }

  adopt({ data, setTriggerValue }) {
    this.data = data;
    this.again = () => setTriggerValue("again", true);
    delete this.root.dataset.over;
    this.seen = ""; // of the page, which is newer than what was put in place before
    this.next(0);
  }

  next(wait) {
    this.stop();
    const { signal } = (this.under = new AbortController());
    this.timer = setTimeout(async () => {
      const pause = await this.look(signal).catch(() => RETRY); // gone or busy
      if (signal.aborted) return;
      if (pause === NEVER) this.root.dataset.over = "true";
      else this.next(pause);
    }, wait);
  }

  // ms until the next look. Nobody sees a hidden page.
  async look(signal) {
    const { at, token, every } = this.data;
    if (document.hidden) return every || RETRY;
    const address = `${location.origin}${at}/updates/${token}`;
    const reply = await fetch(address, { signal, cache: "no-store", headers: { "If-None-Match": this.seen } });
    if (reply.status === 304) return every;
    if (reply.status !== 200 && reply.status !== 205) return RETRY;
    const shown = reply.status === 200 ? await reply.json() : {}; // 205: a session of before
    if (signal.aborted) return every;
    if (shown.page !== this.data.page) {
      this.again();
      return AGAIN;
    }
    this.put(shown);
    this.seen = reply.headers.get("ETag");
    return every;
  }

  put({ headline, below, charts }) {
    const main = this.root.closest('[data-testid="stMain"]') ?? document;
    const words = main.querySelector(".dpviz-headline");
    if (words && words.innerHTML !== headline) {
      head(words, headline);
      words.style.setProperty("--of", words.textContent.length);
    }
    const place = main.querySelector("[data-follow]");
    if (place && place.innerHTML !== below) place.innerHTML = below;
    for (const detail of charts) window.dispatchEvent(new CustomEvent("dpviz-follow", { detail }));
  }

  come() {}

  gone() {
    this.stop();
  }

  stop() {
    clearTimeout(this.timer);
    this.under?.abort();
  }
}

export default mounting("dpvizFollow", Follower);

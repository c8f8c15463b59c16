// Whether the server can be reached. It is asked while somebody is at the page; the page says when it does not answer, and
// entries wait until it does.

import { made } from "./dom.js";

const LOOK = 250; // ms from one look to the next
const [EVERY, SILENT, LOST, GIVEN_UP] = [500, 700, 1500, 3000]; // ms between questions; without an answer
const AWAKE = 10_000; // ms after what a visitor did last in which it is asked
const ACTS = ["pointerdown", "pointermove", "keydown"];
const WORDS = "No connection to the app. What you enter is kept and sent as soon as it is back.";

class Link {
  // `address`: what is asked for.
  constructor(address) {
    this.address = address;
    this.since = null; // when the oldest question was asked that has no answer
    this.asked = this.acted = -Infinity;
    for (const kind of ACTS) window.addEventListener(kind, () => (this.acted = performance.now()), { passive: true, capture: true });
    setInterval(() => this.look(), LOOK);
  }

  // Whether it may be lost: no answer came yet.
  get silent() {
    return this.since !== null && performance.now() - this.since > SILENT;
  }

  look() {
    const now = performance.now();
    const waits = this.since !== null;
    if (waits && now - this.since > LOST) this.say(WORDS);
    if (this.under || document.hidden || now - this.asked < EVERY || !(waits || now - this.acted < AWAKE)) return;
    this.asked = now;
    this.since ??= now;
    this.ask();
  }

  async ask() {
    this.under = true;
    try {
      await fetch(this.address, { cache: "no-store", signal: AbortSignal.timeout(GIVEN_UP) });
      this.since = null;
      this.say("");
      window.dispatchEvent(new Event("dpviz-link"));
    } catch {
      // It is asked again.
    } finally {
      this.under = false;
    }
  }

  say(words) {
    if (!this.notice?.isConnected) {
      if (!words) return;
      this.notice = made("div", "dpviz-link", document.querySelector('[data-testid="stApp"]') ?? document.body);
      this.notice.setAttribute("role", "status");
    }
    if (this.notice.textContent !== words) this.notice.textContent = words;
  }
}

let link = null;

// The page's link to the server at `root`, below whose sibling Streamlit says that it is there; null for a page without one.
export function linkTo(root) {
  return root === null ? null : (link ??= new Link(`${location.origin}${root.replace(/_dpviz$/, "_stcore/health")}`));
}

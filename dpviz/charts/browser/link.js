// Whether the server can be reached. It is asked while somebody is at the page; the page says when it does not answer.
// Once it is back ("dpviz-link"), what it may not have heard is sent again.

import { made } from "./dom.js";

const LOOK = 250; // ms from one look to the next
const [EVERY, SILENT, LOST, GIVEN_UP] = [500, 700, 1500, 3000]; // ms between questions; without an answer
const AWAKE = 10_000; // ms after what a visitor did last in which it is asked
const ACTS = ["pointerdown", "pointermove", "keydown"];
const WORDS =
  "No connection to the app. The page shows the last state. Numbers that you enter are sent once the app is back; buttons wait until then.";

class Link {
  constructor() {
    this.met = false; // whether there was a connection: a page that is still coming has none
    this.broken = false; // whether Streamlit's connection was, since the server last answered
    this.since = null; // when the oldest question was asked that has no answer
    this.asked = this.acted = -Infinity;
  }

  // `address`: what is asked for. A page without a server watches nothing.
  watch(address) {
    this.address = address;
    for (const kind of ACTS) window.addEventListener(kind, () => (this.acted = performance.now()), { passive: true, capture: true });
    setInterval(() => this.look(), LOOK);
  }

  // Whether what is sent now may be lost.
  get away() {
    return this.broken || (this.since !== null && performance.now() - this.since > SILENT);
  }

  // Streamlit drops what is sent while its own connection is broken.
  get connected() {
    return document.querySelector('[data-testid="stApp"]')?.dataset.testConnectionState === "CONNECTED";
  }

  look() {
    const now = performance.now();
    this.met ||= this.connected;
    if (!this.met) return;
    if (!this.connected) {
      this.broken = true;
      this.since ??= now;
    }
    document.documentElement.classList.toggle("dpviz-away", this.away); // Streamlit would drop what a button says
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
      if (this.connected) this.back();
    } catch {
      // It is asked again.
    } finally {
      this.under = false;
    }
  }

  back() {
    const { away } = this;
    this.broken = false;
    this.since = null;
    this.say("");
    document.documentElement.classList.remove("dpviz-away");
    if (away) window.dispatchEvent(new Event("dpviz-link"));
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

export const link = new Link();

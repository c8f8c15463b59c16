// A story that is scrolled: the stop whose text crosses the line is the present one, and the server hears of it once the
// scroll rests on it. Two buttons scroll to its neighbours, and so do the arrow keys that no control takes.

import { allow, arrowButtons } from "./arrows.js";
import { made, mounting } from "./dom.js";

const REST = 150; // ms
const HELD = 3000; // ms that an opened stop is kept in its place while the page is still drawn
const HAND = ["wheel", "touchstart", "pointerdown", "keydown"]; // from then on the visitor leads
const ARROWS = [
  { by: -1, name: "Stop before", path: "M4 13l6-6 6 6", keys: "ArrowLeft" },
  { by: 1, name: "Next stop", path: "M4 7l6 6 6-6", keys: "ArrowRight" },
];

class Story {
  constructor(parent) {
    this.last = 0; // the last stop that was told, by its time
    this.watched = [];
    const root = made("div", "dpviz-steps", parent);
    root.setAttribute("role", "group");
    root.setAttribute("aria-label", "Stops of the story");
    this.place = Object.assign(document.createElement("span"), { className: "dpviz-quiet" });
    this.buttons = arrowButtons(ARROWS, (by) => this.step(by));
    root.append(this.buttons[0], this.place, this.buttons[1]);
  }

  adopt({ data: { stop, seen, stops }, setStateValue }) {
    this.tell = (reached) => setStateValue("stop", reached);
    this.stops = stops;
    if (seen >= this.last && stop !== this.told) this.open(stop); // the first time, and when the server went elsewhere
    this.look();
  }

  come(signal) {
    this.main = document.querySelector('[data-testid="stMain"]');
    const release = () => (this.held = false);
    for (const kind of HAND) window.addEventListener(kind, release, { passive: true, capture: true, signal });
    window.addEventListener("keydown", (event) => this.pressed(event), { signal });
    const sizes = new ResizeObserver(() => this.stops && this.look());
    sizes.observe(this.main);
    sizes.observe(this.main.querySelector('[data-testid="stMainBlockContainer"]'));
    signal.addEventListener("abort", () => sizes.disconnect());
  }

  gone() {
    clearTimeout(this.rest);
    this.line?.disconnect();
    this.watched = [];
  }

  // Present at once, and kept in its place while what stands above it still grows.
  open(stop) {
    this.stop = this.told = stop;
    this.held = true;
    clearTimeout(this.letting);
    this.letting = setTimeout(() => (this.held = false), HELD);
  }

  text(stop) {
    return this.main.querySelector(`.st-key-story-${stop}`);
  }

  // Texts come and go with the page's runs, and the line moves with its size.
  look() {
    const texts = this.stops.map((stop) => this.text(stop)).filter(Boolean);
    if (texts.length < this.stops.length) return; // they are still to come: the size changes then
    if (this.held && this.stop !== this.stops[0]) this.go(this.stop, "instant");
    this.mark();
    const line = this.lineAt();
    if (line === this.lineWas && texts.every((text, k) => text === this.watched[k])) return;
    this.lineWas = line;
    this.watched = texts;
    this.line?.disconnect();
    const rootMargin = `-${line}px 0px -${this.main.clientHeight - line - 1}px 0px`;
    this.line = new IntersectionObserver((changes) => this.crossed(changes), { root: this.main, rootMargin });
    for (const text of texts) this.line.observe(text);
  }

  // In the middle of what the chart leaves free: it stands beside the texts or, on a phone, above them.
  lineAt() {
    const room = this.main.clientHeight;
    const side = this.main.querySelector(".st-key-story-side");
    const above = side.getBoundingClientRect().right > this.text(this.stops[0]).getBoundingClientRect().left;
    const style = getComputedStyle(side.closest('[data-testid="stColumn"]'));
    const taken = above && style.position === "sticky" ? side.getBoundingClientRect().height + parseFloat(style.top) : 0;
    return Math.round(Math.min((room + taken) / 2, room - 60));
  }

  crossed(changes) {
    const found = changes.find((change) => change.isIntersecting);
    if (!found || this.held) return;
    this.stop = this.stops[this.watched.indexOf(found.target)];
    this.mark();
    clearTimeout(this.rest);
    this.rest = setTimeout(() => this.rested(), REST);
  }

  rested() {
    if (this.stop === this.told) return;
    document.dispatchEvent(new Event("dpviz-flush")); // a movement that is still to be told comes before
    this.told = this.stop;
    this.last = Math.max(Date.now(), this.last + 1);
    this.tell({ number: this.stop, n: this.last });
  }

  mark() {
    for (const stop of this.stops) {
      const text = this.text(stop);
      text?.toggleAttribute("data-here", stop === this.stop);
      if (stop === this.stop) text?.setAttribute("aria-current", "step");
      else text?.removeAttribute("aria-current");
    }
    const at = this.stops.indexOf(this.stop);
    this.place.textContent = `${at + 1} of ${this.stops.length}`;
    allow(this.buttons, [at > 0, at + 1 < this.stops.length]);
  }

  // A key that nothing else takes: a slider moves by it, a choice and a text have their own use of it.
  pressed(event) {
    const { by } = ARROWS.find(({ keys }) => keys === event.key) ?? {};
    if (!by || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.target.closest?.('input, select, textarea, [contenteditable], [role="radiogroup"], [role="toolbar"], [role="listbox"]')) return;
    event.preventDefault();
    // From above the story a step leads to the stop that is marked, which is still below.
    const ahead = by > 0 && this.text(this.stop).getBoundingClientRect().top > this.main.getBoundingClientRect().top + this.lineAt();
    this.step(ahead ? 0 : by);
  }

  step(by) {
    const stop = this.stops[this.stops.indexOf(this.stop) + by];
    if (stop === undefined) return;
    this.go(stop, matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth");
  }

  // Its text begins below the line's half way up, or just below the chart.
  go(stop, behavior) {
    const text = this.text(stop);
    const from = text.getBoundingClientRect().top - this.main.getBoundingClientRect().top;
    const room = this.main.clientHeight;
    const line = this.lineAt();
    const top = line > 0.6 * room ? line - (room - line) + 12 : 0.22 * room;
    this.main.scrollTo({ top: this.main.scrollTop + from - top, behavior });
  }
}

export default mounting("dpvizStory", Story);

// My run in one line: its parts in words, a button that opens their fields, and the questions that one asks of it; below it,
// what another mechanism changed. While a hand moves a number, its part follows as the headline does, and what else it
// changes says nothing until the server has answered.

import { made, mounting } from "./dom.js";

const BEHIND = "data-dpviz-behind"; // see movement.js

class RunStrip {
  constructor(parent) {
    this.root = made("div", "dpviz-run", parent);
    this.line = made("button", "line", this.root, { type: "button" });
    this.line.addEventListener("click", () => this.turn(!this.open));
    this.next = made("nav", "next", this.root);
    this.next.setAttribute("aria-label", "Questions about my run");
    this.change = made("p", "dpviz-run-change", parent, { role: "status" });
    this.ahead = 0; // the entry that the server has to know before it speaks of this run
  }

  adopt({ data, setStateValue, setTriggerValue }) {
    this.turn = (open) => {
      document.dispatchEvent(new Event("dpviz-flush"));
      this.shows(open);
      setStateValue("open", open);
    };
    this.shows(data.open);
    this.ways(data.next, (key) => {
      document.dispatchEvent(new Event("dpviz-flush")); // a movement that is still to be told comes before
      setTriggerValue("go", key);
    });
    this.hear(data);
  }

  shows(open) {
    this.open = open;
    this.line.setAttribute("aria-expanded", String(open));
  }

  ways(next, go) {
    this.next.replaceChildren();
    for (const { key, name, asks, here } of next) {
      const way = made("button", "", this.next, { type: "button", textContent: name, title: asks });
      if (here) way.setAttribute("aria-current", "page");
      way.addEventListener("click", () => go(key));
    }
  }

  // What the server says of the run, knowing all entries up to `seen`.
  hear({ run, seen }) {
    if (seen < this.ahead) return;
    this.ahead = 0;
    this.held = null;
    this.run = run;
    this.change.textContent = run.change;
    this.draw(run.phrases.map(({ text }) => text));
  }

  draw(texts) {
    this.texts = texts;
    this.line.replaceChildren();
    made("span", "name", this.line, { textContent: "My run" });
    for (const text of texts) if (text) made("span", "", this.line, { textContent: text });
    if (this.run.unused) made("i", "", this.line, { textContent: this.run.unused });
    this.line.title = `${this.run.unused ? `${this.run.unused}. ` : ""}Open it to change the run that all pages share.`;
  }

  // A hand is at a number: see `NumberControl.announce`.
  moved({ field, phase, text, n }) {
    if (phase !== "move" && phase !== "enter") return;
    const phrases = this.run.phrases;
    if (!phrases.some((one) => one.field === field || one.others.includes(field))) return;
    this.ahead = phase === "enter" ? n : Infinity;
    const before = this.held ?? this.texts;
    const now = (one, k) => (one.field === field ? live(one, text) : one.others.includes(field) ? "…" : before[k]);
    this.held = phrases.map(now);
    requestAnimationFrame(() => requestAnimationFrame(() => this.follow())); // a chart has said then whether it is behind
  }

  // The number that moved, once a headline above a chart is not that of another value.
  follow() {
    if (!this.held || document.documentElement.hasAttribute(BEHIND)) return;
    this.draw(this.held);
    this.held = null;
  }

  pressed({ key }) {
    if (key === "Escape" && this.open) this.turn(false);
  }

  come(signal) {
    window.addEventListener("dpviz-move", ({ detail }) => this.run && this.moved(detail), { signal });
    const watch = new MutationObserver(() => this.follow());
    watch.observe(document.documentElement, { attributeFilter: [BEHIND] });
    signal.addEventListener("abort", () => watch.disconnect());
    window.addEventListener("dpviz-run", ({ detail }) => this.hear(detail), { signal });
    window.addEventListener("keydown", (event) => this.pressed(event), { signal });
  }
}

function live({ before, after, silent }, text) {
  return text === silent ? "" : `${before}${text}${after}`;
}

export default mounting("dpvizStrip", RunStrip);

// A button that lets a number run: its slider goes through its stops by itself, from the first, until a second press,
// and goes on from there at the next. What is drawn on the way comes from frames; the server hears of the end alone.

import { made, mounting } from "./dom.js";

const PACE = 140; // ms a stop
const SOON = 1200; // ms until frames are asked for, ahead of the press

class Run {
  constructor(parent) {
    this.at = -1; // the stop that it reached; before all others
    this.timer = null;
    this.button = made("button", "dpviz-play", parent, { type: "button" });
    this.button.setAttribute("aria-keyshortcuts", "R");
    this.button.addEventListener("click", () => (this.timer === null ? this.start() : this.stop()));
    this.say();
  }

  adopt({ data }) {
    this.data = data;
  }

  say() {
    const runs = this.timer !== null;
    this.button.textContent = runs ? "■ Stop" : "▶ Run";
    this.button.title = runs ? "Stop where the room says so. Key: R." : "Let it run. Key: R.";
    this.button.toggleAttribute("data-runs", runs);
  }

  get ends() {
    return this.at >= this.data.stops.length - 1;
  }

  start() {
    if (this.ends) this.at = -1;
    this.timer = setInterval(() => this.step(), PACE);
    this.step();
    this.say();
  }

  step() {
    this.at += 1;
    this.pull({ phase: "move", value: Number(this.data.stops[this.at]) });
    if (this.ends) this.stop();
  }

  stop() {
    if (this.timer === null) return;
    clearInterval(this.timer);
    this.timer = null;
    this.pull({ phase: "up" });
    this.say();
  }

  pull(pull) {
    window.dispatchEvent(new CustomEvent("dpviz-pull", { cancelable: true, detail: { field: this.data.field, pull } }));
  }

  // Another hand takes over.
  come(signal) {
    const other = ({ target }) => this.button.contains(target) || this.stop();
    document.addEventListener("pointerdown", other, { signal, capture: true });
    this.soon = setTimeout(() => this.timer === null && this.pull({ phase: "near" }), SOON);
  }

  gone() {
    clearTimeout(this.soon);
    this.stop();
  }
}

export default mounting("dpvizRun", Run);

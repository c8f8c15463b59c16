// Undo and redo: two buttons, and Ctrl-Z, Ctrl-Shift-Z, Ctrl-Y (⌘ on a Mac). The server keeps the states; the page says
// after every run how many there are on either side ("dpviz-history").

import { allow, arrowButtons } from "./arrows.js";
import { made, mounting } from "./dom.js";

const KEPT = 50; // steps that are told again: the server takes each once
const ARROWS = [
  { by: -1, name: "Undo", keys: "Control+Z", path: "M7 4 3 8l4 4M3 8h9a5 5 0 0 1 0 10H8" },
  { by: 1, name: "Redo", keys: "Control+Shift+Z", path: "M13 4l4 4-4 4M17 8H8a5 5 0 0 0 0 10h4" },
];

class Steps {
  constructor(parent) {
    this.last = 0; // the last step that was asked for
    this.asked = [];
    this.buttons = arrowButtons(ARROWS, (by) => this.step(by));
    made("div", "dpviz-history", parent).append(...this.buttons);
  }

  adopt({ data, setStateValue }) {
    this.send = (entry) => setStateValue("entry", entry);
    this.seen = data.seen;
    if (data.seen >= this.last) allow(this.buttons, data.room);
  }

  pressed(event) {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.defaultPrevented) return;
    const key = event.key.toLowerCase();
    const by = key === "z" ? (event.shiftKey ? 1 : -1) : key === "y" && !event.shiftKey ? 1 : 0;
    if (!by || ownEdit(event.composedPath()[0])) return;
    event.preventDefault();
    this.step(by);
  }

  // A step where there is none is no harm: the server looks.
  step(by) {
    document.dispatchEvent(new Event("dpviz-flush")); // a movement that is still to be told comes before
    this.last = Math.max(Date.now() + 1, this.last + 1);
    this.asked = [...this.asked, [this.last, by]].slice(-KEPT);
    this.tell();
  }

  tell() {
    this.send({ steps: this.asked });
  }

  come(signal) {
    window.addEventListener("keydown", (event) => this.pressed(event), { signal });
    window.addEventListener("dpviz-link", () => this.seen < this.last && this.tell(), { signal });
    window.addEventListener("dpviz-history", ({ detail }) => allow(this.buttons, detail), { signal });
  }
}

export default mounting("dpvizHistory", Steps);

// Whether the keys belong to a text that is being changed: any but a number's whose text is what was entered.
function ownEdit(element) {
  if (element.isContentEditable || element.matches?.("textarea")) return true;
  if (!element.matches?.("input") || ["range", "checkbox", "radio", "button"].includes(element.type)) return false;
  return element.closest(".dpviz-number") ? element.hasAttribute("data-dirty") : element.value !== "";
}

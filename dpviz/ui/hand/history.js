// Undo and redo: two buttons, and Ctrl-Z, Ctrl-Shift-Z, Ctrl-Y (⌘ on a Mac). The server keeps the states; the page says
// after every run how many there are on either side ("dpviz-history").

import { allow, arrowButtons } from "./arrows.js";
import { ending } from "./mounts.js";

const KEPT = 50; // steps that are told again: the server takes each once
const ARROWS = [
  { by: -1, name: "Undo", keys: "Control+Z", path: "M7 4 3 8l4 4M3 8h9a5 5 0 0 1 0 10H8" },
  { by: 1, name: "Redo", keys: "Control+Shift+Z", path: "M13 4l4 4-4 4M17 8H8a5 5 0 0 0 0 10h4" },
];

export default function mount({ parentElement, data, setStateValue }) {
  const steps = (parentElement.dpvizHistory ??= new Steps(parentElement));
  steps.send = (entry) => setStateValue("entry", entry);
  steps.come();
  if (data.seen >= steps.last) allow(steps.buttons, data.room);
  return ending(steps);
}

class Steps {
  constructor(parent) {
    this.last = 0; // the last step that was asked for
    this.asked = [];
    this.here = false;
    const root = Object.assign(document.createElement("div"), { className: "dpviz-history" });
    this.buttons = arrowButtons(ARROWS, (by) => this.step(by));
    root.append(...this.buttons);
    parent.append(root);
    this.onKey = (event) => this.pressed(event);
    this.onRoom = (event) => allow(this.buttons, event.detail);
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
    this.send({ steps: this.asked });
  }

  // Streamlit may take it away and put it back at once.
  come() {
    if (this.here) return;
    this.here = true;
    window.addEventListener("keydown", this.onKey);
    window.addEventListener("dpviz-history", this.onRoom);
  }

  gone() {
    this.here = false;
    window.removeEventListener("keydown", this.onKey);
    window.removeEventListener("dpviz-history", this.onRoom);
  }
}

// Whether the keys belong to a text that is being changed: any but a number's whose text is what was entered.
function ownEdit(element) {
  if (element.isContentEditable || element.matches?.("textarea")) return true;
  if (!element.matches?.("input") || ["range", "checkbox", "radio", "button"].includes(element.type)) return false;
  return element.closest(".dpviz-number") ? element.hasAttribute("data-dirty") : element.value !== "";
}

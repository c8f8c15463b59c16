// Numbers in the headline that are settings: pulled left and right, and typed over.

import { made } from "./dom.js";

const STOP = 7; // pixels from one stop to the next
const FINE = 10; // times as many with Shift
const BEGUN = 3; // pixels after which a press is a pull

export class Sentence {
  // `pull(field, what)`: a setting's control is told of a pull; returns its text, null where there is none.
  constructor(pull) {
    this.pull = pull;
    this.held = null; // the pull under way
  }

  come(signal) {
    const on = (kind, hear) => window.addEventListener(kind, hear, { signal });
    on("pointerdown", (event) => this.take(event));
    on("pointermove", (event) => this.held?.id === event.pointerId && this.go(event));
    on("pointerup", (event) => this.held?.id === event.pointerId && this.release());
    on("pointercancel", (event) => this.held?.id === event.pointerId && this.release({ cancelled: true }));
  }

  take(event) {
    const number = event.button ? null : event.target.closest?.(".dpviz-headline [data-sets]");
    if (!number || this.held) return;
    const field = number.dataset.sets;
    const text = this.pull(field, { phase: "near" });
    if (text === null) return;
    event.preventDefault(); // no words are selected
    this.held = { field, text, id: event.pointerId, x: event.clientX, box: number.getBoundingClientRect(), pulled: false };
  }

  go(event) {
    const { field, x } = this.held;
    const across = event.clientX - x;
    if (!this.held.pulled && Math.abs(across) < BEGUN) return;
    this.held.pulled = true;
    document.documentElement.toggleAttribute("data-dpviz-pull", true);
    const by = event.shiftKey ? across / (STOP * FINE) : Math.round(across / STOP);
    this.pull(field, { phase: "move", by, fine: event.shiftKey });
  }

  release({ cancelled = false } = {}) {
    const { field, pulled } = this.held;
    if (pulled && cancelled) this.pull(field, { phase: "move", by: 0, fine: true });
    if (pulled) this.pull(field, { phase: "end" });
    else if (!cancelled) this.write(this.held);
    document.documentElement.toggleAttribute("data-dpviz-pull", false);
    this.held = null;
  }

  // A field over the number. Words under it may change meanwhile.
  write({ field, text, box }) {
    const input = made("input", "dpviz-written", document.body, { type: "text", value: text, autocomplete: "off", spellcheck: false });
    input.setAttribute("aria-label", "The number in the sentence");
    Object.assign(input.style, { left: `${box.left}px`, top: `${box.top}px`, minWidth: `${box.width}px`, height: `${box.height}px` });
    input.select();
    input.focus();
    let open = true;
    const close = (entered) => {
      if (!open) return;
      open = false;
      input.remove();
      if (entered && input.value !== text) this.pull(field, { phase: "type", text: input.value });
      else this.pull(field, { phase: "away" });
    };
    input.addEventListener("keydown", ({ key }) => (key === "Enter" || key === "Escape") && close(key === "Enter"));
    input.addEventListener("blur", () => close(true));
  }
}

// A slider: a thumb that a hand moves over stops, and by fine movements between two of them.

import { made } from "./dom.js";

const FINE = 0.1; // what Shift makes of a movement
const TENTHS = 21; // places that a fine movement could show around one

export class Slider {
  // `hears`: of a hand that moves it (`moved(text)`), lets go (`released()`), comes (`near()`) or goes (`away()`), and
  // that its focus is elsewhere (`left()`).
  constructor(parent, { id, label, stops }, hears) {
    Object.assign(this, { stops, hears });
    this.position = 0;
    this.drag = null; // the pointer that holds the thumb: where it was taken, and where that was on the stops
    this.pulledFrom = null; // where it was when a hand began to pull it from elsewhere
    this.input = made("input", "", parent, { type: "range", id, min: 0, max: stops.last, step: "any" });
    this.input.setAttribute("aria-label", label);
    const on = (kinds, hear) => kinds.forEach((kind) => this.input.addEventListener(kind, hear));
    on(["keydown"], (event) => this.onKey(event));
    on(["input"], () => this.onInput());
    on(["pointerdown"], (event) => this.onDown(event));
    on(["pointermove"], (event) => this.onMove(event));
    on(["pointerup", "pointercancel", "lostpointercapture"], (event) => this.onUp(event));
    on(["pointerenter", "focus"], () => hears.near());
    on(["blur"], () => hears.left());
    on(["pointerleave", "blur"], () => this.drag || this.input.matches(":hover, :focus") || hears.away());
  }

  // Whether a hand holds it, here or elsewhere on the page.
  get held() {
    return this.drag !== null || this.pulledFrom !== null;
  }

  place(position) {
    this.position = position;
    this.input.value = position;
    const { last } = this.stops;
    this.input.style.setProperty("--share", `${last ? (100 * position) / last : 0}%`);
  }

  // Where a value stands, and how it is read out.
  stand(value, said) {
    this.place(this.stops.positionOf(value));
    this.input.setAttribute("aria-valuetext", said);
  }

  move(position, { fine = false } = {}) {
    const wanted = Math.min(Math.max(fine ? position : Math.round(position), 0), this.stops.last);
    if (wanted === this.position) return;
    this.place(wanted);
    const text = this.stops.textAt(wanted);
    this.input.setAttribute("aria-valuetext", text);
    this.hears.moved(text);
  }

  // So many stops on, from the stop that is nearest in that direction.
  step(stops) {
    this.move(stops > 0 ? Math.floor(this.position + 1e-9) + stops : Math.ceil(this.position - 1e-9) + stops);
  }

  onKey(event) {
    const { page, last } = this.stops;
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: page, PageDown: -page };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = steps[event.key];
    if (step && event.shiftKey) this.move(this.position + step * FINE, { fine: true });
    else if (step) this.step(step);
    else if (event.key === "Home") this.move(0);
    else if (event.key === "End") this.move(last);
    else return;
    event.preventDefault();
  }

  // By those who set it otherwise: a screen reader, a test. Firefox itself puts the thumb under a finger too.
  onInput() {
    if (this.touched) this.place(this.position);
    else if (Number(this.input.value) !== this.position) this.move(Number(this.input.value));
  }

  onDown(event) {
    if (event.button) return;
    event.preventDefault();
    this.input.focus({ preventScroll: true });
    this.input.setPointerCapture(event.pointerId);
    const finger = event.pointerType === "touch";
    this.drag = { x: event.clientX, position: this.position, from: this.position, fine: false, finger };
    this.touched = finger;
    // A finger pulls the thumb from wherever it is put down: one that scrolls the page moves nothing.
    if (event.shiftKey || finger) return;
    this.drag.position = (event.clientX - this.input.getBoundingClientRect().left - this.thumb() / 2) * this.perPixel();
    this.move(this.drag.position);
  }

  onMove(event) {
    if (!this.drag) return;
    const fine = event.shiftKey;
    if (fine !== this.drag.fine) Object.assign(this.drag, { x: event.clientX, position: this.position, fine });
    const moved = (event.clientX - this.drag.x) * this.perPixel() * (fine ? FINE : 1);
    this.move(this.drag.position + moved, { fine });
  }

  onUp(event) {
    if (!this.drag) return;
    const { finger, from } = this.drag;
    if (event.type === "pointercancel" && finger) this.move(from, { fine: true }); // the page scrolls
    this.drag = null;
    setTimeout(() => (this.touched = false)); // Firefox's last word comes after this event
    this.hears.released();
  }

  // The thumb is as wide as the slider's type is high, and its centre stays half of that inside the slider's ends.
  thumb() {
    return parseFloat(getComputedStyle(this.input).fontSize);
  }

  perPixel() {
    return this.stops.last / Math.max(this.input.getBoundingClientRect().width - this.thumb(), 1);
  }
}

// The values that a slider stands at, their texts, and what lies between two of them.
export class Stops {
  // `texts`: each stop as the server writes it; `whole`: whether only whole numbers will do.
  constructor(texts, whole) {
    this.texts = texts;
    this.whole = whole;
    this.numbers = texts.map(Number);
  }

  get last() {
    return this.texts.length - 1;
  }

  // So many a page key moves.
  get page() {
    return Math.max(1, Math.round(this.texts.length / 10));
  }

  // Where a value stands: between two stops by its logarithm where they are positive. A stop without a number ("best") is
  // the last one, beyond all numbers.
  positionOf(value) {
    const high = Number.isNaN(value) ? -1 : this.numbers.findIndex((stop) => stop >= value);
    if (high < 0) return this.last;
    if (high === 0 || this.numbers[high] === value) return high;
    const [a, b] = [this.numbers[high - 1], this.numbers[high]];
    return high - 1 + (a > 0 ? Math.log(value / a) / Math.log(b / a) : (value - a) / (b - a));
  }

  textAt(position) {
    const low = Math.floor(position);
    if (position - low < 1e-9) return this.texts[low];
    const [a, b] = [this.numbers[low], this.numbers[low + 1]];
    if (Number.isNaN(b)) return this.texts[Math.round(position)];
    const between = a > 0 ? a * (b / a) ** (position - low) : a + (b - a) * (position - low);
    if (this.whole) return String(Math.round(between));
    const digits = Math.max(3, Math.ceil(-Math.log10((b - a) / Math.abs(between || b))) + 2);
    return String(Number(between.toPrecision(Math.min(digits, 9))));
  }

  // What a fine movement could show from here: tenths of the two steps around.
  around(position) {
    if (Number.isInteger(position)) return [];
    const low = Math.floor(position);
    const tenths = Array.from({ length: TENTHS }, (_, k) => Math.min(low + (k - 5) / 10, this.last));
    return [...new Set(tenths.filter((place) => place >= 0).map((place) => this.textAt(place)))];
  }
}

// A number one unit of its last digit on, `steps` of them.
export function stepped(value, steps, whole) {
  const [mantissa, exponent = "0"] = String(value).split("e");
  const digits = (mantissa.split(".")[1] ?? "").length - Number(exponent);
  const unit = whole ? 1 : 10 ** -Math.max(digits, 0);
  return String(Number((value + steps * unit).toPrecision(12)));
}

// A number: a slider for feel, a text for exactness, one entry after the other. The slider's movement is announced to
// the page at once ("dpviz-move"); the server hears of it when the hand rests.

import { made, mounting } from "./dom.js";
import { numberIn } from "./readings.js";
import { Stops, stepped } from "./stops.js";

const REST = 180; // ms without a movement after which an entry is sent
const FINE = 0.1; // what Shift makes of a movement

let waiting = 0;
function pending(change) {
  waiting += change;
  document.documentElement.toggleAttribute("data-dpviz-pending", waiting > 0);
}

class NumberControl {
  constructor(parent) {
    this.sent = 0; // the last entry that was sent
    this.timer = null; // a movement that is still to be sent
    this.drag = null;
    this.root = made("div", "dpviz-number", parent);
    this.flush = this.flush.bind(this);
  }

  // Whether the text was changed and not entered.
  get dirty() {
    return this.text.hasAttribute("data-dirty");
  }

  set dirty(dirty) {
    this.text.toggleAttribute("data-dirty", dirty);
  }

  build(data) {
    const id = `dpviz-${data.field}-${Math.random().toString(36).slice(2)}`;
    this.root.replaceChildren();
    this.root.dataset.field = data.field;
    const head = made("div", "head", this.root);
    if (!data.shows_label) head.classList.add("unseen");
    made("label", "", head, { textContent: data.label, htmlFor: id });
    if (data.help) {
      const help = made("button", "help", head, { type: "button", textContent: "?" });
      help.setAttribute("aria-label", `${data.label}: ${data.help}`);
      made("span", "tip", head, { textContent: data.help }).setAttribute("aria-hidden", "true");
    }
    this.text = made("input", "", head, { type: "text", inputMode: "text", autocomplete: "off", spellcheck: false });
    this.slider = null;
    if (data.stops.length) {
      this.slider = made("input", "", this.root, { type: "range", id, min: 0, max: data.stops.length - 1, step: "any" });
      this.slider.setAttribute("aria-label", data.label);
      this.listenToSlider();
    }
    if (this.slider) this.text.setAttribute("aria-label", `${data.label}, exactly`);
    else this.text.id = id;
    this.listenToText();
    this.below = made("div", "below", this.root);
  }

  // --- what the server says -----------------------------------------------------------------------------------------

  adopt({ data, setStateValue }) {
    this.send = (entry) => setStateValue("entry", entry);
    this.given = data;
    this.show(data);
  }

  show(data) {
    const built = JSON.stringify([data.field, data.label, data.help, data.shows_label, data.stops]);
    if (built !== this.built) {
      this.built = built;
      this.build(data);
      this.stops = new Stops(data.stops, data.whole);
    }
    this.data = data;
    if (data.seen < this.sent || this.timer || this.drag) return; // it does not know the last entry yet
    if (this.slider) {
      this.place(this.stops.positionOf(Number(data.value)));
      this.slider.setAttribute("aria-valuetext", data.said);
    }
    if (!this.dirty) this.text.value = data.text;
    this.text.toggleAttribute("aria-invalid", Boolean(data.wrong));
    this.sayBelow(data);
  }

  sayBelow({ wrong, note, ends, offers = [], why }) {
    this.note(wrong ? "" : note);
    const focused = [...this.below.querySelectorAll(".offers button")].indexOf(document.activeElement);
    this.below.replaceChildren();
    if (wrong) {
      const told = made("div", "dpviz-problem", this.below, { textContent: `${wrong} The last good value is used.` });
      told.setAttribute("role", "alert");
    } else if (ends.some(Boolean)) {
      const line = made("div", "dpviz-ends", this.below);
      for (const end of ends) made("span", "", line, { textContent: end });
    }
    const line = offers.length ? made("div", "offers", this.below) : null;
    for (const [said, text] of offers) {
      const offer = made("button", "", line, { type: "button", textContent: said, title: text });
      offer.setAttribute("aria-label", `${this.data.label}: ${said}, which is ${text}`);
      offer.toggleAttribute("data-chosen", text === this.data.text);
      offer.addEventListener("click", () => this.choose(text));
    }
    line?.children[focused]?.focus();
    if (why && !wrong) made("div", "why", this.below, { textContent: why });
  }

  // A note comes and goes while a hand moves: below all controls, where it moves none of them.
  note(words) {
    this.root.toggleAttribute("data-noted", Boolean(words));
    this.noted?.remove();
    const column = this.root.closest('[data-testid="stColumn"] > [data-testid="stVerticalBlock"]');
    this.noted = words ? made("div", "dpviz-caution", column ?? this.root, { textContent: `${this.data.label}: ${words}` }) : null;
  }

  // --- places and values ----------------------------------------------------------------------------------------------

  place(position) {
    this.position = position;
    this.slider.value = position;
    const { last } = this.stops;
    this.slider.style.setProperty("--share", `${last ? (100 * position) / last : 0}%`);
  }

  move(position, { fine = false } = {}) {
    const wanted = Math.min(Math.max(fine ? position : Math.round(position), 0), this.stops.last);
    if (wanted === this.position) return;
    this.place(wanted);
    const text = this.stops.textAt(wanted);
    this.text.value = text;
    this.dirty = false;
    this.slider.setAttribute("aria-valuetext", text);
    this.announce("move", text);
    this.later(text);
  }

  // So many stops on, from the stop that is nearest in that direction.
  step(stops) {
    this.move(stops > 0 ? Math.floor(this.position + 1e-9) + stops : Math.ceil(this.position - 1e-9) + stops);
  }

  // An arrow key in the text field, `way` up or down: as on the slider; where there is none by one unit of the last
  // digit. With Shift (`far`) ten times as far.
  stepText(way, far) {
    const value = this.dirty ? numberIn(this.text.value) : Number(this.text.value);
    if (!Number.isFinite(value) && (this.dirty || !this.slider)) return this.enter();
    if (this.slider) {
      if (this.dirty) this.place(this.stops.positionOf(value));
      return this.step(way * (far ? this.stops.page : 1));
    }
    this.text.value = stepped(value, way * (far ? 10 : 1), this.data.whole);
    this.dirty = false;
    this.later(this.text.value);
  }

  announce(phase, text = this.text.value) {
    const at = Math.round(this.position ?? 0);
    const { field, stops } = this.data;
    const detail = { field, phase, text, at, stops, between: this.stops.around(this.position ?? 0), n: this.sent };
    window.dispatchEvent(new CustomEvent("dpviz-move", { detail }));
  }

  // --- what the hand does -------------------------------------------------------------------------------------------

  listenToSlider() {
    const slider = this.slider;
    slider.addEventListener("keydown", (event) => {
      const { page, last } = this.stops;
      const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: page, PageDown: -page };
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key in steps) {
        const step = steps[event.key];
        if (event.shiftKey) this.move(this.position + step * FINE, { fine: true });
        else this.step(step);
      } else if (event.key === "Home") this.move(0);
      else if (event.key === "End") this.move(last);
      else return;
      event.preventDefault();
    });
    // For those who set the slider otherwise: a screen reader, a test. Firefox itself puts the thumb under a finger too.
    slider.addEventListener("input", () => {
      if (this.touched) this.place(this.position);
      else if (Number(slider.value) !== this.position) this.move(Number(slider.value));
    });
    slider.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      event.preventDefault();
      slider.focus({ preventScroll: true });
      slider.setPointerCapture(event.pointerId);
      this.drag = { x: event.clientX, position: this.position, from: this.position, finger: event.pointerType === "touch" };
      this.touched = this.drag.finger;
      // A finger pulls the thumb from wherever it is put down: one that scrolls the page moves nothing.
      if (!event.shiftKey && !this.drag.finger) {
        this.drag.position = this.under(event.clientX);
        this.move(this.drag.position);
      }
    });
    slider.addEventListener("pointermove", (event) => {
      if (!this.drag) return;
      const fine = event.shiftKey;
      if (fine !== Boolean(this.drag.fine)) Object.assign(this.drag, { x: event.clientX, position: this.position, fine });
      const moved = (event.clientX - this.drag.x) * this.perPixel() * (fine ? FINE : 1);
      this.move(this.drag.position + moved, { fine });
    });
    const release = (event) => {
      if (!this.drag) return;
      const { finger, from } = this.drag;
      if (event.type === "pointercancel" && finger) this.move(from, { fine: true }); // the page scrolls
      this.drag = null;
      setTimeout(() => (this.touched = false)); // Firefox's last word comes after this event
      if (this.timer) this.flush();
      else if (this.data.seen >= this.sent) this.show(this.data);
    };
    for (const kind of ["pointerup", "pointercancel", "lostpointercapture"]) slider.addEventListener(kind, release);
    slider.addEventListener("pointerenter", () => this.announce("near"));
    slider.addEventListener("focus", () => this.announce("near"));
    slider.addEventListener("blur", this.flush);
    for (const kind of ["pointerleave", "blur"]) slider.addEventListener(kind, () => this.held() || this.announce("away"));
  }

  // Whether a hand is at it.
  held() {
    return this.drag || this.slider.matches(":hover, :focus");
  }

  // The thumb is as wide as the slider's type is high, and its centre stays half of that inside the slider's ends.
  thumb() {
    return parseFloat(getComputedStyle(this.slider).fontSize);
  }

  perPixel() {
    return this.stops.last / Math.max(this.slider.getBoundingClientRect().width - this.thumb(), 1);
  }

  under(x) {
    return (x - this.slider.getBoundingClientRect().left - this.thumb() / 2) * this.perPixel();
  }

  listenToText() {
    this.text.addEventListener("input", () => (this.dirty = true));
    this.text.addEventListener("keydown", (event) => {
      const way = { ArrowUp: 1, ArrowDown: -1 }[event.key];
      if (event.key === "Enter") this.enter();
      else if (way && !(event.ctrlKey || event.metaKey || event.altKey)) {
        event.preventDefault();
        this.stepText(way, event.shiftKey);
      } else if (event.key === "Escape") {
        this.dirty = false;
        this.text.value = this.data.text;
      }
    });
    this.text.addEventListener("focus", () => this.text.select());
    // WebKit undoes a selection made at focus when the button that brought the focus goes up.
    this.text.addEventListener("mousedown", () => (this.focusing = document.activeElement !== this.text));
    this.text.addEventListener("mouseup", (event) => this.focusing && event.preventDefault());
    this.text.addEventListener("blur", () => this.enter());
  }

  enter() {
    if (!this.dirty) return;
    this.dirty = false;
    this.forget();
    this.sendNow(this.text.value, { exact: false });
  }

  choose(text) {
    this.forget();
    this.dirty = false;
    this.text.value = text;
    this.sendNow(text);
  }

  // --- entries --------------------------------------------------------------------------------------------------------

  later(text) {
    this.unsent = text;
    if (this.timer) clearTimeout(this.timer);
    else {
      pending(1);
      document.addEventListener("pointerdown", this.flush, true); // whatever is clicked next comes after this entry
      document.addEventListener("dpviz-flush", this.flush);
    }
    this.timer = setTimeout(this.flush, this.drag ? 2 * REST : REST);
  }

  forget() {
    if (!this.timer) return false;
    clearTimeout(this.timer);
    this.timer = null;
    pending(-1);
    document.removeEventListener("pointerdown", this.flush, true);
    document.removeEventListener("dpviz-flush", this.flush);
    return true;
  }

  flush() {
    if (this.forget()) this.sendNow(this.unsent);
  }

  // `exact`: the slider or a choice wrote the text. What a person typed may have a decimal comma.
  sendNow(text, { exact = true } = {}) {
    this.sent = Math.max(Date.now(), this.sent + 1);
    this.announce("enter", text);
    const entry = { text, exact, n: this.sent };
    const detail = { field: this.data.field, ...entry };
    // A chart that it moves tells the server; where there is none, it does so itself.
    const claimed = !window.dispatchEvent(new CustomEvent("dpviz-enter", { cancelable: true, detail }));
    if (!claimed) this.send(entry);
  }

  come(signal) {
    const says = ({ detail }) => detail.field === this.data.field && this.show({ ...this.given, ...detail.says });
    window.addEventListener("dpviz-says", says, { signal });
  }

  gone() {
    this.note("");
    this.flush();
  }
}

export default mounting("dpvizNumber", NumberControl);

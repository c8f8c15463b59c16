// A number: a slider for feel, a text for exactness. What a hand does with either is announced to the page at once
// ("dpviz-move"); the server hears of it when the hand rests.

import { made, mounting } from "./dom.js";
import { Entry } from "./entry.js";
import { numberIn } from "./readings.js";
import { Slider, stepped, Stops } from "./slider.js";

class NumberControl {
  constructor(parent) {
    this.entry = new Entry((entry) => this.send(entry));
    this.root = made("div", "dpviz-number", parent);
    // A key that moves the number, or Escape, sends its help away, and a press on the slider that of its focus; it comes
    // back with the next focus.
    this.root.addEventListener("keydown", ({ key }) => this.root.toggleAttribute("data-busy", key !== "Tab"));
    this.root.addEventListener("focusout", () => ["data-busy", "data-held"].forEach((name) => this.root.removeAttribute(name)));
  }

  // Whether the text was changed and not entered.
  get dirty() {
    return this.text.hasAttribute("data-dirty");
  }

  set dirty(dirty) {
    this.text.toggleAttribute("data-dirty", dirty);
  }

  // A text that was chosen, and not typed.
  write(text) {
    this.text.value = text;
    this.dirty = false;
  }

  build({ field, label, help, shows_label, stops, whole }) {
    const id = `dpviz-${field}-${Math.random().toString(36).slice(2)}`;
    this.root.replaceChildren();
    this.root.dataset.field = field;
    const head = made("div", "head", this.root);
    if (!shows_label) head.classList.add("unseen");
    lowered(label, made("label", "", head, { htmlFor: id }));
    if (help) made("span", "tip", head, { textContent: help, id: `${id}-help` });
    this.text = made("input", "", head, { type: "text", inputMode: "text", autocomplete: "off", spellcheck: false });
    this.slider = stops.length ? new Slider(this.root, { id, label, stops: new Stops(stops, whole) }, this.hears()) : null;
    this.slider?.input.addEventListener("pointerdown", () => this.root.toggleAttribute("data-held", true));
    if (this.slider) this.text.setAttribute("aria-label", `${label}, exactly`);
    else this.text.id = id;
    if (help) for (const input of [this.text, this.slider?.input]) input?.setAttribute("aria-describedby", `${id}-help`);
    this.listenToText();
    this.drawn = made("div", "drawn", this.root);
    this.drawing = "";
    this.below = made("div", "below", this.root);
  }

  // --- what the server says -----------------------------------------------------------------------------------------

  adopt({ data, setStateValue }) {
    this.tell = (entry) => setStateValue("entry", entry);
    this.given = data;
    this.show(data);
  }

  show(data) {
    const built = JSON.stringify([data.field, data.label, data.help, data.shows_label, data.stops]);
    if (built !== this.built) this.build(data);
    this.built = built;
    this.data = data;
    if (this.entry.ahead(data.seen) || this.slider?.held) return; // it does not know the last entry yet
    this.slider?.stand(Number(data.value), data.said);
    if (!this.dirty) this.text.value = data.text;
    this.text.toggleAttribute("aria-invalid", Boolean(data.wrong));
    this.picture(data.picture ?? "");
    this.sayBelow(data);
  }

  sayBelow({ wrong, note, ends, offers = [], why }) {
    this.note(wrong ? "" : note);
    this.why = why;
    const focused = [...this.below.querySelectorAll(".offers button")].indexOf(document.activeElement);
    this.below.replaceChildren();
    if (wrong) {
      const problem = made("div", "dpviz-problem", this.below, { textContent: `${wrong} The last good value is used.` });
      problem.setAttribute("role", "alert");
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
    if (why && !wrong) made("div", "why", line ?? this.below, { textContent: why });
  }

  // What follows from values and stands below the slider: it moves with a hand, at this control or at another.
  caption({ [this.data.field]: why }) {
    if (why !== undefined && why !== this.why) this.sayBelow({ ...this.data, why });
  }

  // What a small picture shows of values, an SVG of the server's own making: it moves likewise.
  picture(drawing) {
    if (drawing !== this.drawing) this.drawn.innerHTML = this.drawing = drawing;
  }

  // A note comes and goes while a hand moves: below all controls, where it moves none of them.
  note(words) {
    this.root.toggleAttribute("data-noted", Boolean(words));
    this.noted?.remove();
    const column = this.root.closest('[data-testid="stColumn"] > [data-testid="stVerticalBlock"]');
    this.noted = words ? made("div", "dpviz-caution", column ?? this.root, { textContent: `${this.data.label}: ${words}` }) : null;
  }

  // --- what a hand does ---------------------------------------------------------------------------------------------

  hears() {
    return {
      near: () => this.announce("near"),
      away: () => this.announce("away"),
      left: () => this.entry.flush(),
      moved: (text) => {
        this.write(text);
        this.announce("move", text);
        this.entry.later(text, this.slider.held);
      },
      released: () => {
        this.entry.flush();
        this.show(this.data); // an answer that came meanwhile
      },
    };
  }

  // A hand pulls what is this number elsewhere on the page: a mark on a chart to a `value`, or a number in a sentence `by`
  // so many stops; or it typed a `text` over that.
  pulled({ phase, value, by, text, fine = false }) {
    const { slider } = this;
    if (phase === "type") {
      this.text.value = text;
      return this.entry.now(text, { exact: false });
    }
    if (phase === "near" || phase === "away" || !slider) return this.announce(phase);
    if (phase === "move") {
      slider.pulledFrom ??= slider.position;
      slider.move(by === undefined ? slider.stops.positionOf(value) : slider.pulledFrom + by, { fine });
    } else if (slider.pulledFrom !== null) {
      slider.pulledFrom = null;
      slider.hears.released();
    }
  }

  listenToText() {
    this.text.addEventListener("input", () => (this.dirty = true));
    this.text.addEventListener("keydown", (event) => {
      const way = { ArrowUp: 1, ArrowDown: -1 }[event.key];
      if (event.key === "Enter") this.enter();
      else if (way && !(event.ctrlKey || event.metaKey || event.altKey)) {
        event.preventDefault();
        this.step(way, event.shiftKey);
      } else if (event.key === "Escape") this.write(this.data.text);
    });
    this.text.addEventListener("focus", () => this.text.select());
    // WebKit undoes a selection made at focus when the button that brought the focus goes up.
    this.text.addEventListener("mousedown", () => (this.focusing = document.activeElement !== this.text));
    this.text.addEventListener("mouseup", (event) => this.focusing && event.preventDefault());
    this.text.addEventListener("blur", () => this.enter());
  }

  // An arrow key in the text field, `way` up or down: as on the slider; where there is none by one unit of the last
  // digit. With Shift (`far`) ten times as far.
  step(way, far) {
    const value = this.dirty ? numberIn(this.text.value) : Number(this.text.value);
    if (!Number.isFinite(value) && (this.dirty || !this.slider)) return this.enter();
    if (!this.slider) {
      this.write(stepped(value, way * (far ? 10 : 1), this.data.whole));
      return this.entry.later(this.text.value);
    }
    const { stops } = this.slider;
    if (this.dirty) this.slider.place(stops.positionOf(value));
    this.slider.step(way * (far ? stops.page : 1));
  }

  enter() {
    if (!this.dirty) return;
    this.dirty = false;
    const value = numberIn(this.text.value);
    if (Number.isFinite(value)) this.slider?.place(this.slider.stops.positionOf(value)); // with its frame, which may be there
    this.entry.now(this.text.value, { exact: false });
  }

  choose(text) {
    this.write(text);
    this.entry.now(text);
  }

  // --- what the page hears ------------------------------------------------------------------------------------------

  // Where a hand is: at the value `text`, which may lie between two stops.
  announce(phase, text = this.text.value) {
    const { position = 0, stops } = this.slider ?? {};
    const here = { at: Math.round(position), stops: this.data.stops, between: stops?.around(position) ?? [] };
    const detail = { field: this.data.field, phase, text, ...here, n: this.entry.n };
    window.dispatchEvent(new CustomEvent("dpviz-move", { detail }));
  }

  // A chart that it moves tells the server; where there is none, it does so itself. Until the server has written the link
  // that has it, the address keeps it: who loads the page again loses nothing.
  send(entry) {
    this.announce("enter", entry.text);
    if (this.given.kept_as) keep(this.given.kept_as, `${entry.n} ${this.data.field} ${Number(entry.exact)} ${entry.text}`);
    const detail = { field: this.data.field, ...entry };
    const claimed = !window.dispatchEvent(new CustomEvent("dpviz-enter", { cancelable: true, detail }));
    if (!claimed) this.tell(entry);
  }

  come(signal) {
    const says = ({ detail }) => detail.field === this.data.field && this.show({ ...this.given, ...detail.says });
    const pulled = (event) => {
      if (event.detail.field !== this.data.field || !this.root.isConnected || event.defaultPrevented) return;
      event.preventDefault(); // it is told
      this.pulled(event.detail.pull);
      event.detail.text = this.text.value;
    };
    window.addEventListener("dpviz-says", says, { signal });
    window.addEventListener("dpviz-pull", pulled, { signal });
    window.addEventListener("dpviz-captions", ({ detail }) => this.caption(detail), { signal });
    const redrawn = ({ detail }) => this.data.picture != null && this.picture(detail[this.data.field] ?? this.drawing);
    window.addEventListener("dpviz-pictures", redrawn, { signal });
    window.addEventListener("dpviz-link", () => this.entry.again(this.data.seen), { signal });
  }

  gone() {
    this.note("");
    this.entry.flush();
  }
}

// A label's text, with its index set low: "δ_μ".
function lowered(text, label) {
  const [before, after] = text.split("_μ");
  label.append(before);
  if (after === undefined) return;
  made("sub", "", label, { textContent: "μ" });
  label.append(after);
}

// In the address, beside what stands there, under this name.
function keep(name, entry) {
  const { pathname, search } = location;
  try {
    window.history.replaceState(window.history.state, "", `${pathname}${search ? `${search}&` : "?"}${name}=${encodeURIComponent(entry)}`);
  } catch {
    // Browsers refuse more than some hundred changes in half a minute.
  }
}

export default mounting("dpvizNumber", NumberControl);

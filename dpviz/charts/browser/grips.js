// Marks on a chart that are settings: a hand pulls one, and its setting moves as under its own slider.

import { made } from "./dom.js";

const REACH = 7; // pixels from a mark within which a mouse takes it; a finger takes its knob
const BEYOND = 0.5; // of the plot's length: so far beyond its ends a hand can pull
const DECIDED = 5; // pixels that a hand goes before a mark of two settings follows it along one axis
const INSIDE = 9; // pixels right of an upright axis where a knob stands
const RULED = { x: "ew-resize", y: "ns-resize", xy: "move" }; // cursors

export class Grips {
  // `pull(field, what)`: a setting's control is told of a pull.
  constructor(plot, pull) {
    Object.assign(this, { plot, pull });
    this.marks = [];
    this.knobs = [];
    this.near = null; // the mark under the mouse
    this.held = null; // the pull under way
    const on = (kind, hear) => plot.addEventListener(kind, hear, { capture: true });
    on("pointermove", (event) => event.pointerType === "touch" || this.held || this.meet(this.at(event)));
    on("pointerleave", () => this.held || this.meet(null));
    on("pointerdown", (event) => this.take(event));
    for (const kind of ["mousedown", "touchstart"]) on(kind, (event) => this.held && event.stopPropagation()); // Plotly's zoom
  }

  // Listens to a hand that has left the plot.
  come(signal) {
    const on = (kind, hear) => window.addEventListener(kind, (event) => this.held?.id === event.pointerId && hear(event), { signal });
    on("pointermove", (event) => this.go(event));
    on("pointerup", () => this.release());
    on("pointercancel", () => this.release({ back: true }));
  }

  // The marks of a figure that are among these fields; `hand` draws it.
  show({ layout }, hand, fields) {
    this.hand = hand;
    const marks = new Map(); // by their place: a ring may be two settings
    for (const { field, axis, x, y } of layout.meta?.grips ?? []) {
      if (!fields.includes(field)) continue;
      const key = `${x} ${y}`;
      if (!marks.has(key)) marks.set(key, { x, y, fields: {} });
      marks.get(key).fields[axis] = field;
    }
    this.marks = [...marks.values()];
    this.stand();
  }

  // Puts the knobs where the marks are at this moment.
  stand() {
    const place = this.marks.length ? this.hand?.place() : null;
    if (this.layer?.parentElement !== this.plot) this.layer = made("div", "dpviz-grips", this.plot);
    while (this.knobs.length < this.marks.length) this.knobs.push(document.createElement("div"));
    for (const knob of this.knobs.splice(this.marks.length)) knob.remove();
    this.knobs.forEach((knob, i) => {
      const held = this.held && sameFields(this.held.mark, this.marks[i]) ? this.held.at : {};
      const at = place && pixels({ ...this.marks[i], ...held }, place);
      knob.className = "dpviz-grip";
      knob.dataset.axis = axesOf(this.marks[i]);
      knob.toggleAttribute("data-ring", isRing(this.marks[i]));
      knob.hidden = !at?.seen;
      if (at) knob.style.transform = `translate(${at.knob.x}px, ${at.knob.y}px)`;
      if (knob.parentElement !== this.layer) this.layer.append(knob);
    });
    this.mark();
  }

  // Shows which one would be taken, or is.
  mark() {
    const shown = this.held?.mark ?? this.near;
    const index = this.marks.findIndex((mark) => shown && sameFields(mark, shown));
    this.knobs.forEach((knob, i) => knob.toggleAttribute("data-near", i === index));
    this.plot.style.cursor = shown ? RULED[axesOf(shown)] : "";
    this.plot.toggleAttribute("data-grip", Boolean(shown));
    this.plot.toggleAttribute("data-grabbed", Boolean(this.held));
  }

  // A mouse is at a mark, or left it: what the chart would be there is asked for.
  meet(mark) {
    if (mark === this.near || (mark && this.near && sameFields(mark, this.near))) return;
    for (const field of Object.values(this.near?.fields ?? {})) this.pull(field, { phase: "away" });
    this.near = mark;
    for (const field of Object.values(mark?.fields ?? {})) this.pull(field, { phase: "near" });
    this.mark();
  }

  // The mark at a pointer, the nearest one; null for none.
  at(event) {
    const place = this.marks.length ? this.hand?.place() : null;
    if (!place) return null;
    const own = this.knobs.findIndex((knob) => knob === event.target);
    if (own >= 0) return this.marks[own];
    const pointer = this.pointer(event);
    const far = this.marks.map((mark) => distance(pixels(mark, place), pointer, place.area));
    const least = Math.min(...far);
    return least <= REACH ? this.marks[far.indexOf(least)] : null;
  }

  // Where it is on the plot, in the plot's own pixels.
  pointer({ clientX, clientY }) {
    const { left, top, width } = this.plot.getBoundingClientRect();
    const scale = width / this.plot.clientWidth || 1;
    return { x: (clientX - left) / scale, y: (clientY - top) / scale };
  }

  // --- a pull -------------------------------------------------------------------------------------------------------

  take(event) {
    const mark = event.button ? null : this.at(event);
    if (!mark || this.held) return;
    event.preventDefault();
    event.stopPropagation();
    const place = this.hand.place();
    const [from, at] = [this.pointer(event), pixels(mark, place)];
    const off = { x: from.x - (at.x ?? from.x), y: from.y - (at.y ?? from.y) };
    const only = Object.keys(mark.fields);
    this.held = { mark, scales: place.scales, from, off, id: event.pointerId, axis: only.length === 1 ? only[0] : null };
    for (const field of Object.values(mark.fields)) this.pull(field, { phase: "near" });
    this.mark();
  }

  // The mark stays under the hand: the axis that it is pulled along holds while it is on it. Where the plot begins may
  // change meanwhile: the other axis may have longer numbers.
  go(event) {
    const { mark, scales, from, off } = this.held;
    const pointer = this.pointer(event);
    const [across, down] = [pointer.x - from.x, pointer.y - from.y];
    if (!this.held.axis && Math.hypot(across, down) < DECIDED) return;
    const axis = (this.held.axis ??= Math.abs(across) > Math.abs(down) ? "x" : "y");
    const { left, top, width, height } = this.hand.place().area;
    const share = axis === "x" ? (pointer.x - off.x - left) / width : 1 - (pointer.y - off.y - top) / height;
    this.hand.hold(share >= 0 && share <= 1 ? `${axis}axis` : null);
    const value = scales[axis].data(Math.min(Math.max(share, -BEYOND), 1 + BEYOND));
    const text = this.pull(mark.fields[axis], { phase: "move", value, fine: event.shiftKey });
    this.held.at = { [axis]: Number(text) }; // its knob is there before its curves are
    this.stand();
  }

  // `back`: the page took the pointer for something else.
  release({ back = false } = {}) {
    const { mark, axis } = this.held;
    this.held = null;
    this.hand?.hold(null);
    if (axis && back) this.pull(mark.fields[axis], { phase: "move", value: mark[axis], fine: true });
    if (axis) this.pull(mark.fields[axis], { phase: "end" });
    this.mark();
  }

  gone() {
    if (this.held) this.release();
  }
}

const axesOf = ({ fields }) => Object.keys(fields).sort().join("");
const isRing = ({ x, y }) => x !== null && y !== null;
const sameFields = (one, other) => JSON.stringify(one.fields) === JSON.stringify(other.fields);

// Where a mark is, its knob, and whether the plot shows it. A guide's knob is at its end, beside what stands at the axis.
function pixels({ x, y }, { area, scales }) {
  const across = x === null ? null : scales.x.of(x);
  const up = y === null ? null : scales.y.of(y);
  const seen = [across, up].every((share) => share === null || (share >= -1e-9 && share <= 1 + 1e-9));
  const at = { x: across === null ? null : area.left + across * area.width, y: up === null ? null : area.top + (1 - up) * area.height };
  return { ...at, seen, knob: { x: at.x ?? area.left + INSIDE, y: at.y ?? area.top + area.height } };
}

// Pixels from a mark to a pointer; infinite from one that is not seen, and beside the plot.
function distance({ x, y, seen }, pointer, { left, top, width, height }) {
  const beside = Math.max(left - pointer.x, pointer.x - left - width, top - pointer.y, pointer.y - top - height);
  if (!seen || beside > REACH) return Infinity;
  return Math.hypot(x === null ? 0 : pointer.x - x, y === null ? 0 : pointer.y - y);
}

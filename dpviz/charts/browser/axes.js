// Axes that hold while the curves change: whether a figure still fits on them, and what it looks like there.

import { ends } from "./ends.js";

const FLAT = 0.3; // of the axis' length: a chart that needs less of it gets another axis
const ROOM = 0.5; // of a new axis' length that is used at least, where the hand goes on
const NAMES = ["xaxis", "yaxis"];

// An axis as shares of its length: 0 at its start, 1 at its end.
export class Scale {
  constructor(axis) {
    this.log = axis.type === "log";
    [this.low, this.high] = axis.range;
  }
  raw(share) {
    return this.low + share * (this.high - this.low);
  }
  ofRaw(value) {
    return (value - this.low) / (this.high - this.low);
  }
  of(value) {
    return this.ofRaw(this.log ? Math.log10(value) : value);
  }
  data(share) {
    return this.log ? 10 ** this.raw(share) : this.raw(share);
  }
}

// The axes that a layout brings: {xaxis, yaxis, margin, titles}; null where it has no ranges.
export function axesOf({ xaxis, yaxis, margin, annotations }) {
  if (!xaxis?.range || !yaxis?.range) return null;
  const titles = (annotations ?? []).filter((note) => note.name === "title").map((note) => note.text);
  return { xaxis, yaxis, margin, titles: [xaxis.title?.text, ...titles].join() };
}

export function sameQuantities(one, other) {
  return one.titles === other.titles && sameKinds(one, other);
}

export function sameRange(one, other) {
  const slack = 1e-9 * Math.abs(other.range[1] - other.range[0]);
  return [0, 1].every((end) => Math.abs(one.range[end] - other.range[end]) <= slack);
}

export function sameView(one, other) {
  return NAMES.every((name) => sameRange(one[name], other[name]));
}

export function sameKinds(one, other) {
  return NAMES.every((name) => one[name].type === other[name].type);
}

function contains(held, own) {
  const [low, high] = own.range;
  const [first, last] = held.range;
  const size = last - first;
  return high <= last + 1e-9 * size && low >= first - (own.type === "log" ? 0.02 * size : 1e-9);
}

function share(own, held) {
  return (own.range[1] - own.range[0]) / (held.range[1] - held.range[0]);
}

// The held axes, each as long as what `own` shows lies well on it; what a visitor chose holds anyway, and so does the one
// that is called `rigid`.
export function kept(held, own, rigid = null) {
  const stays = (name) => name === rigid || held[name].chosen || (held[name].type === own[name].type && contains(held[name], own[name]) && share(own[name], held[name]) >= FLAT);
  return exchanged(held, NAMES.filter((name) => !stays(name)), own);
}

// Held axes that make room for a hand that goes on: where one does not hold, the longest among those that `others` tells
// on which `own` lies well.
export function following(held, own, others, rigid = null) {
  const now = kept(held, own, rigid);
  const left = NAMES.filter((name) => now[name] !== held[name]);
  if (!left.length) return held;
  const there = others();
  return left.reduce((axes, name) => {
    const growing = share(own[name], axes[name]) >= FLAT;
    const fitting = (next) => sameQuantities(next, own) && contains(next[name], own[name]) && share(own[name], next[name]) >= ROOM;
    const longer = (best, next) => (growing && fitting(next) && share(best[name], next[name]) < 1 ? next : best);
    return exchanged(axes, [name], there.reduce(longer, own));
  }, held);
}

// Axes on their way from one range to another of the same kind; `share` of the way, in the axis' own coordinate.
export function blended(from, to, share) {
  const between = (name) => ({ ...to[name], range: to[name].range.map((end, i) => from[name].range[i] + share * (end - from[name].range[i])) });
  return { ...to, xaxis: between("xaxis"), yaxis: between("yaxis") };
}

function exchanged(held, names, other) {
  if (!names.length) return held;
  const axes = { ...held };
  for (const name of names) axes[name] = other[name];
  if (names.includes("yaxis")) axes.margin = other.margin;
  return names.length === NAMES.length ? other : axes;
}

// A figure as it is on these axes, without the curves that are hidden; `margin`: of the drawn chart, where it stays.
export function placed({ data, layout }, axes, hidden, margin = null) {
  const own = axesOf(layout);
  const traces = hidden.size ? data.map((trace) => (hidden.has(trace.name) ? unseen(trace) : trace)) : data;
  if (!own || !axes || (sameView(own, axes) && !margin)) return { data: traces, layout: { ...layout, annotations: fadedNames(layout, hidden) } };
  const scales = { own: { x: new Scale(own.xaxis), y: new Scale(own.yaxis) }, held: { x: new Scale(axes.xaxis), y: new Scale(axes.yaxis) } };
  const at = { ...layout, ...placedAxes(layout, axes, margin) };
  const inner = layout.height - at.margin.t - at.margin.b;
  const notes = (layout.annotations ?? []).filter((note) => note.name !== "end");
  at.annotations = [...ends(layout.meta?.ends ?? [], scales, inner), ...notes.map((note) => placedNote(note, scales, layout.margin, at.margin))];
  at.annotations = fadedNames(at, hidden, layout.meta?.ends);
  at.shapes = (layout.shapes ?? []).map((shape) => placedShape(shape, scales));
  return { data: traces.map((trace) => (trace.fillpattern ? region(trace, scales) : trace)), layout: at };
}

function unseen({ hovertemplate, ...trace }) {
  return { ...trace, opacity: 0, hoverinfo: "skip" };
}

function placedAxes(layout, { xaxis, yaxis, margin }, drawn) {
  const on = (own, held) => ({ ...own, range: held.range, tickvals: held.tickvals, ticktext: held.ticktext, minor: held.minor });
  const wide = drawn ?? { ...layout.margin, l: margin.l, r: Math.max(margin.r, layout.margin.r) };
  return { xaxis: on(layout.xaxis, xaxis), yaxis: on(layout.yaxis, yaxis), margin: wide };
}

// Where a coordinate of a figure with its own axes lies on the held ones; on the paper only what stands within it moves.
function moved(reference, value, own, held) {
  return reference === "paper" && value > 0 && value < 1 ? held.ofRaw(own.raw(value)) : value;
}

function placedNote(note, { own, held }, from, to) {
  const x = moved(note.xref, note.x, own.x, held.x);
  const y = moved(note.yref, note.y, own.y, held.y);
  const shift = note.name === "title" && from.l - to.l;
  return { ...note, x, y, ...(shift && { xshift: note.xshift + shift }), ...outside(note, x, y) };
}

function placedShape(shape, { own, held }) {
  const [x0, x1] = [shape.x0, shape.x1].map((x) => moved(shape.xref, x, own.x, held.x));
  const [y0, y1] = [shape.y0, shape.y1].map((y) => moved(shape.yref, y, own.y, held.y));
  return { ...shape, x0, x1, y0, y1, ...outside(shape, x0, y0) };
}

function outside({ xref, yref }, x, y) {
  const beyond = (reference, value) => reference === "paper" && (value < 0 || value > 1);
  return beyond(xref, x) || beyond(yref, y) ? { visible: false } : {};
}

// Hatched over the whole height.
function region(trace, { own, held }) {
  const middle = own.y.data(0.5);
  return { ...trace, y: Array.from(trace.y, (y) => held.y.data(y < middle ? 0 : 1)) };
}

// The names at the ends of hidden curves stay, so that a click brings them back.
function fadedNames({ annotations, meta }, hidden, lineEnds = meta?.ends) {
  if (!hidden.size) return annotations;
  let i = 0;
  return annotations.map((note) => (note.name === "end" && hidden.has(lineEnds[i++]?.line) ? { ...note, opacity: 0.4 } : note));
}

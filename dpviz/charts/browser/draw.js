// Draws a frame on a chart that stands: paths and names are moved by hand, for Plotly would fall behind the pointer.
// The axes hold while the hand moves and after it; they change only when a curve leaves them or lies flat, and then
// they glide: Plotly draws them when the hand rests.

import { axesOf, blended, following, kept, placed, sameKinds, sameQuantities, sameRange, sameView, Scale } from "./axes.js";
import { counted } from "./dom.js";
import { head, Over, svg } from "./over.js";

const FAR = 4000; // pixels beyond which nothing is drawn
const GLIDE = 180; // ms from one range to the next
const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

export class Hand {
  // `hidden`: names of curves that are not shown; `moving` says whether a hand moves a control; `drew` is told of every
  // picture on the way to other axes.
  constructor(plot, plotter, { hidden, moving, drew }) {
    Object.assign(this, { plot, plotter, hidden, drew });
    // An answer to a place where the hand was before comes through Streamlit, which writes its words over newer ones.
    // They are put right before the next frame: two charts that write in one place never keep the browser busy.
    this.overwritten = new MutationObserver(() => requestAnimationFrame(() => moving() && this.say(this.words)));
    this.away = false; // whether a frame is shown: what the server said is not
    this.over = null; // what lies over the chart while the hand moves
    this.axes = null; // that hold, or to which the chart glides
    this.plotted = null; // as Plotly drew them
    this.redrawn = null; // the frame that Plotly drew last
    this.rigid = null; // the name of the axis along which a hand pulls a mark
  }

  // What the server says is on the chart, on these axes: nothing of a frame stays.
  rest(axes) {
    this.uncover(axes);
    this.waiting = null;
    this.away = false;
  }

  // Another draws this chart from now on.
  end() {
    this.overwritten.disconnect();
    cancelAnimationFrame(this.next);
  }

  // Plotly has drawn: what lay over it goes.
  uncover(axes) {
    this.bare();
    this.axes = this.plotted = axes;
    this.last = this.before = this.from = null;
    this.collect();
  }

  bare() {
    this.over?.remove();
    this.over = this.ghosts = null;
  }

  // The curves' elements, by the uid of their trace.
  collect() {
    this.groups = new Map();
    for (const group of this.plot.querySelectorAll(".scatterlayer .trace")) {
      const among = (selector) => [...group.querySelectorAll(selector)];
      const parts = { lines: among(".js-line"), fills: among(".js-fill"), dots: among(".point") };
      this.groups.set(group.__data__?.[0]?.trace?.uid, { group, ...parts });
    }
  }

  // A frame. Whether it stands on the chart; a promise of that where Plotly draws it.
  show(frame, others = () => []) {
    this.away = true;
    if (!this.byHand(frame, (own) => following(this.axes, own, others, this.rigid))) return this.redraw(frame);
    counted(this.plot, "frames");
    return true;
  }

  // What the server says, at once: Plotly, which takes longer, draws it later. Whether it could be drawn by hand.
  answer(frame) {
    const drawn = this.byHand(frame, () => this.axesFor(frame.figure.layout));
    this.away ||= drawn;
    return drawn;
  }

  byHand(frame, axesFor) {
    const own = axesOf(frame.figure.layout);
    if (!own || !this.seen() || !sameKinds(own, this.axes) || !this.sameTraces(frame.figure.data)) return false;
    this.last = frame;
    this.waiting = this.redrawn = null;
    this.glideTo(axesFor(own));
    this.draw();
    this.say(frame);
    return true;
  }

  // The last frame, on the axes of this moment.
  draw() {
    cancelAnimationFrame(this.next);
    if (!this.last) return;
    const { figure } = this.last;
    const { area, scales, view } = this.place();
    const across = (v) => scales.x.of(v) * area.width;
    const down = (v) => (1 - scales.y.of(v)) * area.height;
    const there = placed(figure, view, this.hidden, this.plot.layout.margin);
    this.over ??= new Over(this.plot);
    this.ghostsOn(area, across, down);
    this.paths(there.data, across, down);
    this.over.show(there.layout, this.axes, this.plotted, scales, area);
    this.drew();
    if (this.from) this.next = requestAnimationFrame(() => this.draw());
  }

  // The plot's box in pixels, and its axes and their scales at this moment; null where there are none.
  place() {
    if (!this.seen()) return null;
    const view = this.view();
    const { xaxis, yaxis } = this.plot._fullLayout;
    const area = { left: xaxis._offset, top: yaxis._offset, width: xaxis._length, height: yaxis._length };
    return { area, view, scales: { x: new Scale(view.xaxis), y: new Scale(view.yaxis) } };
  }

  // The axis of this name stays as it is, whatever comes, as long as a hand pulls a mark along it; null: none does.
  hold(name) {
    this.rigid = name;
  }

  // The headline, the metrics and the notes.
  say(words) {
    const { headline, strip, notes } = (this.words = words);
    this.overwritten.disconnect(); // what is written here is not what it watches for
    const main = this.plot.closest('[data-testid="stMain"]') ?? document;
    const shown = main.querySelector(".dpviz-headline");
    if (shown && headline !== undefined && shown.innerHTML !== headline) head(shown, headline);
    const metrics = main.querySelector(".dpviz-strip");
    const place = metrics?.parentElement;
    if (metrics && strip !== undefined && metrics.outerHTML !== strip) metrics.outerHTML = strip;
    const below = main.querySelector(".dpviz-notes");
    if (below && notes !== undefined && below.innerHTML !== notes) below.innerHTML = notes;
    if (place) this.overwritten.observe(place, { childList: true });
  }

  // --- axes -----------------------------------------------------------------------------------------------------------

  // The axes as they are seen: a visitor may have zoomed. Null where there are none to hold.
  seen() {
    const now = this.plot._fullLayout;
    if (!this.axes || !now?.xaxis?.range || !now.yaxis?.range) return null;
    for (const name of ["xaxis", "yaxis"]) {
      if (sameRange(now[name], this.plotted[name])) continue;
      const chosen = { ...this.plotted[name], range: [...now[name].range], chosen: true };
      this.axes = { ...this.axes, [name]: chosen };
      this.plotted = { ...this.plotted, [name]: chosen };
      this.from = null;
      this.bare();
    }
    return this.axes;
  }

  // The axes on which the server's next figure is drawn: the present ones, where they do.
  axesFor(layout) {
    const own = axesOf(layout);
    const seen = layout.meta?.ends && own && this.seen();
    return seen && sameQuantities(own, seen) ? kept(seen, own, this.rigid) : own;
  }

  // Whether the axes are the layout's own.
  home(layout) {
    const own = axesOf(layout);
    return !own || !this.seen() || sameView(own, this.axes);
  }

  // From where the chart is at this moment, in the middle of another change too: nothing queues up.
  glideTo(axes) {
    if (axes === this.axes) return;
    this.from = calm.matches ? null : this.view();
    this.begun = performance.now();
    this.axes = axes;
  }

  // The axes of this moment.
  view() {
    const left = 1 - (performance.now() - this.begun) / GLIDE;
    if (!this.from || left <= 0) {
      this.from = null;
      return this.axes;
    }
    return blended(this.from, this.axes, 1 - left ** 3);
  }

  // --- curves ---------------------------------------------------------------------------------------------------------

  sameTraces(data) {
    return data.every((trace) => (trace.type ?? "scatter") === "scatter" && (this.groups.has(trace.uid) || trace.opacity === 0));
  }

  paths(data, across, down) {
    const shown = new Set(data.map((trace) => trace.uid));
    for (const trace of data) this.path(trace, trace.opacity ?? 1, across, down);
    for (const trace of this.plot.data) if (!shown.has(trace.uid)) this.path(trace, Math.min(trace.opacity ?? 1, 0.25), across, down); // is still to be computed
  }

  path(trace, opacity, across, down) {
    const there = this.groups.get(trace.uid);
    if (!there) return;
    there.group.style.opacity = opacity;
    if (trace.opacity === 0) return;
    if (trace.mode === "markers") {
      there.dots.forEach((dot, i) => dot.setAttribute("transform", `translate(${placeOf(trace, i, across, down)})`));
      return;
    }
    const d = pathOf(trace, across, down);
    there.lines.forEach((line, i) => line.setAttribute("d", i || !d ? "M0,0" : d));
    for (const fill of there.fills) fill.setAttribute("d", d || "M0,0");
  }

  // Where the curves were before the hand moved.
  ghostsOn({ left, top, width, height }, across, down) {
    this.before ??= this.plot.data.filter((t) => (t.mode ?? "lines") === "lines" && !t.fill && t.opacity !== 0 && t.x);
    if (!this.ghosts) {
      const frame = svg("svg", { class: "dpviz-ghosts", x: left, y: top, width, height, overflow: "hidden" }, null);
      this.over.lines.append(frame);
      const look = ({ line }) => ({ fill: "none", stroke: line?.color ?? "gray", "stroke-width": 1.25, opacity: 0.35 });
      this.ghosts = this.before.map((trace) => svg("path", look(trace), frame));
    } else if (this.ghosted === this.axes) return;
    this.before.forEach((trace, i) => this.ghosts[i].setAttribute("d", pathOf(trace, across, down)));
    this.ghosted = this.from ? null : this.axes;
  }

  // What cannot be moved by hand is drawn by Plotly, as often as it keeps up.
  redraw(frame) {
    this.waiting = frame;
    return this.plotter.inTurn(async () => {
      const next = this.waiting;
      if (!next) return this.redrawn === frame; // with an earlier turn, or another was drawn since
      this.waiting = null;
      const axes = this.axesFor(next.figure.layout);
      await this.plotter.draw(placed(next.figure, axes, this.hidden));
      this.uncover(axes);
      this.say(next);
      counted(this.plot, "frames");
      this.redrawn = next;
      return next === frame;
    });
  }
}

// A trace as an SVG path. Stairs ("hv", "vh") as Plotly draws them.
export function pathOf({ x: xs, y: ys, fill, line }, across, down) {
  const shape = line?.shape; // stairs
  let d = "";
  let pen = false;
  for (let i = 0; i < xs.length; i++) {
    const x = xs[i] === null ? NaN : across(xs[i]);
    const y = ys[i] === null ? NaN : down(ys[i]);
    if (!Number.isFinite(x) || !Number.isFinite(y)) {
      pen = false;
      continue;
    }
    const [u, v] = [x, y].map((p) => Math.min(Math.max(p, -FAR), FAR).toFixed(2));
    if (pen && shape === "hv") d += `H${u}V${v}`;
    else if (pen && shape === "vh") d += `V${v}H${u}`;
    else d += `${pen ? "L" : "M"}${u},${v}`;
    pen = true;
  }
  return fill && d ? `${d}Z` : d;
}

// Where a point stands; out of sight where this frame has fewer, because others lie beyond its axes.
function placeOf({ x, y }, i, across, down) {
  const place = i < Math.min(x.length, y.length) ? [across(x[i]), down(y[i])] : [];
  return place.length && place.every(Number.isFinite) ? place.join(",") : "-9999,-9999";
}

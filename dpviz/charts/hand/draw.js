// Draws a frame on a chart that stands: paths and names are moved by hand, for Plotly would fall behind the pointer.
// The axes hold while the hand moves and after it; they change only when a curve leaves them or lies flat.

import { axesOf, following, kept, placed, sameKinds, sameQuantities, sameRange, sameView, Scale } from "./axes.js";
import { svg, Words } from "./words.js";

const FAR = 4000; // pixels beyond which nothing is drawn

export class Hand {
  // `react` and `relayout` are Plotly's, for this chart; `inTurn` does one thing after the other; `hidden`: names of
  // curves that are not shown.
  constructor(plot, { react, relayout, inTurn, hidden }) {
    Object.assign(this, { plot, react, relayout, inTurn, hidden });
    this.away = false; // whether a frame is shown: what the server said is not
    this.words = null; // what lies over the chart while the hand moves
    this.axes = null; // as they are drawn
  }

  // What the server says is on the chart, on these axes: nothing of a frame stays.
  rest(axes) {
    this.uncover(axes);
    this.waiting = null;
    this.away = false;
    document.querySelector(".dpviz-headline")?.setAttribute("aria-live", "polite");
  }

  // Plotly has drawn: what lay over it goes.
  uncover(axes) {
    this.words?.remove();
    this.axes = axes;
    this.words = this.ghosts = this.last = this.before = null;
    this.collect();
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

  show(frame, others = []) {
    if (!frame.figure) return;
    this.away = true;
    const { data, layout } = frame.figure;
    const own = axesOf(layout);
    if (!own || !this.seen() || !sameKinds(own, this.axes) || !this.sameTraces(data)) {
      this.redraw(frame);
      return;
    }
    this.last = frame;
    const axes = following(this.axes, own, others);
    if (axes !== this.axes) {
      this.change(axes);
      return;
    }
    const { xaxis, yaxis } = this.plot._fullLayout;
    const area = { left: xaxis._offset, top: yaxis._offset, width: xaxis._length, height: yaxis._length };
    const scales = { x: new Scale(axes.xaxis), y: new Scale(axes.yaxis) };
    const across = (v) => scales.x.of(v) * area.width;
    const down = (v) => (1 - scales.y.of(v)) * area.height;
    const there = placed(frame.figure, axes, this.hidden, this.plot.layout.margin);
    this.words ??= new Words(this.plot, this.plot.layout);
    this.ghosts ??= this.ghostsOn(area, across, down);
    this.paths(there.data, across, down);
    this.words.show(there.layout, scales, area);
    this.say(frame);
    this.plot.dataset.frames = Number(this.plot.dataset.frames ?? 0) + 1;
  }

  // The headline, the metrics and the notes.
  say({ headline, strip, notes }) {
    const main = this.plot.closest('[data-testid="stMain"]') ?? document;
    const shown = main.querySelector(".dpviz-headline");
    if (shown && headline !== undefined && shown.innerHTML !== headline) {
      shown.setAttribute("aria-live", "off"); // it speaks when the hand rests
      shown.innerHTML = headline;
    }
    const metrics = main.querySelector(".dpviz-strip");
    if (metrics && strip !== undefined && metrics.outerHTML !== strip) metrics.outerHTML = strip;
    const below = main.querySelector(".dpviz-notes");
    if (below && notes !== undefined && below.innerHTML !== notes) below.innerHTML = notes;
  }

  // --- axes -----------------------------------------------------------------------------------------------------------

  // The axes as they are seen: a visitor may have zoomed. Null where there are none to hold.
  seen() {
    const now = this.plot._fullLayout;
    if (!this.axes || !now?.xaxis?.range || !now.yaxis?.range) return null;
    for (const name of ["xaxis", "yaxis"]) {
      if (sameRange(now[name], this.axes[name])) continue;
      this.axes = { ...this.axes, [name]: { ...this.axes[name], range: [...now[name].range], chosen: true } };
      this.words?.remove();
      this.words = this.ghosts = null;
    }
    return this.axes;
  }

  // The axes on which the server's next figure is drawn: the present ones, where they do.
  axesFor(layout) {
    const own = axesOf(layout);
    const seen = layout.meta?.ends && own && this.seen();
    return seen && sameQuantities(own, seen) ? kept(seen, own) : own;
  }

  // Whether the axes are the layout's own.
  home(layout) {
    const own = axesOf(layout);
    return !own || !this.seen() || sameView(own, this.axes);
  }

  change(axes) {
    if (this.changing) return; // the last frame is shown when it is done
    this.changing = true;
    this.inTurn(async () => {
      this.changing = false;
      if (!this.last) return;
      const { xaxis, yaxis, yaxis2 } = axes;
      const second = yaxis2 && { yaxis2: { ...yaxis2, shift: this.plot.layout.yaxis2.shift } };
      this.axes = axes; // Plotly has them at once
      await this.relayout({ xaxis, yaxis, ...second }); // which draws the curves of before
      if (!this.last) return;
      this.ghosts?.remove();
      this.ghosts = null;
      this.words?.look();
      this.collect();
      this.show(this.last);
    });
  }

  // --- curves ---------------------------------------------------------------------------------------------------------

  sameTraces(data) {
    return data.every((trace) => (trace.type ?? "scatter") === "scatter" && (this.groups.has(trace.uid) || trace.opacity === 0));
  }

  paths(data, across, down) {
    const shown = new Set();
    for (const trace of data) {
      const there = this.groups.get(trace.uid);
      if (!there) continue;
      shown.add(trace.uid);
      there.group.style.opacity = trace.opacity ?? 1;
      if (trace.opacity === 0) continue;
      if (trace.mode === "markers") {
        there.dots.forEach((dot, i) => dot.setAttribute("transform", `translate(${across(trace.x[i])},${down(trace.y[i])})`));
        continue;
      }
      const d = pathOf(trace.x, trace.y, across, down, Boolean(trace.fill));
      there.lines.forEach((line, i) => line.setAttribute("d", i || !d ? "M0,0" : d));
      for (const fill of there.fills) fill.setAttribute("d", d || "M0,0");
    }
    for (const [uid, { group }] of this.groups) if (!shown.has(uid)) group.style.opacity = 0.25; // is still to be computed
  }

  // Where the curves were before the hand moved.
  ghostsOn({ left, top, width, height }, across, down) {
    this.before ??= this.plot.data.filter((t) => (t.mode ?? "lines") === "lines" && !t.fill && t.opacity !== 0 && t.x);
    const frame = svg("svg", { class: "dpviz-ghosts", x: left, y: top, width, height, overflow: "hidden" }, null);
    this.words.over.prepend(frame);
    for (const { x, y, line } of this.before) {
      const d = pathOf(x, y, across, down, false);
      if (d) svg("path", { d, fill: "none", stroke: line?.color ?? "gray", "stroke-width": 1.25, opacity: 0.35 }, frame);
    }
    return frame;
  }

  // What cannot be moved by hand is drawn by Plotly, as often as it keeps up.
  redraw(frame) {
    this.waiting = frame;
    this.inTurn(async () => {
      const next = this.waiting;
      if (!next) return; // a later frame was drawn, or the server's figure is
      this.waiting = null;
      const axes = axesOf(next.figure.layout);
      await this.react(placed(next.figure, axes, this.hidden));
      this.uncover(axes);
      this.say(next);
      this.plot.dataset.frames = Number(this.plot.dataset.frames ?? 0) + 1;
    });
  }
}

function pathOf(xs, ys, across, down, closed) {
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
    d += `${pen ? "L" : "M"}${u},${v}`;
    pen = true;
  }
  return closed && d ? `${d}Z` : d;
}

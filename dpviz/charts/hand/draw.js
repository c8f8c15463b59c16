// Draws a frame on a chart that stands: paths and names are moved by hand, for Plotly would fall behind the pointer.
// The axes hold while the hand moves; they change only when a curve leaves them or lies flat.

const NS = "http://www.w3.org/2000/svg";
const GAP = 17; // pixels between two names
const LEAD = 14; // pixels from a line's end to its name
const FAR = 4000; // pixels beyond which nothing is drawn
const FLAT = 0.3; // of the axis' height: a chart that needs less of it gets another axis

function svg(kind, attributes, parent) {
  const element = document.createElementNS(NS, kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  parent?.append(element);
  return element;
}

// An axis as shares of its length: 0 at its start, 1 at its end.
class Scale {
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
}

export class Hand {
  // `react` and `relayout` are Plotly's, for this chart; `inTurn` does one thing after the other.
  constructor(plot, { react, relayout, inTurn }) {
    Object.assign(this, { plot, react, relayout, inTurn });
    this.away = false; // whether a frame is shown: what the server said is not
    this.over = null; // what lies over the chart while the hand moves
    this.axes = null; // of a frame that was shown, while they hold
  }

  get area() {
    const { xaxis, yaxis } = this.plot._fullLayout;
    return { left: xaxis._offset, top: yaxis._offset, width: xaxis._length, height: yaxis._length };
  }

  // The server's figure is drawn: nothing of a frame stays.
  rest() {
    this.uncover();
    this.waiting = null;
    this.away = false;
    document.querySelector(".dpviz-headline")?.setAttribute("aria-live", "polite");
  }

  // Plotly has drawn: what lay over it goes.
  uncover() {
    this.over?.remove();
    this.over = null;
    this.axes = this.last = this.before = null;
    for (const hidden of this.plot.querySelectorAll(".dpviz-under")) hidden.classList.remove("dpviz-under");
  }

  show(frame) {
    if (!frame.figure) return;
    this.away = true;
    const { data, layout } = frame.figure;
    if (!this.plot._fullLayout.xaxis || !this.sameTraces(data) || layout.xaxis.type !== this.type("x")) {
      this.redraw(frame);
      return;
    }
    this.last = frame;
    if (this.hold(layout)) return;
    const own = { x: new Scale(layout.xaxis), y: new Scale(layout.yaxis) };
    const held = { x: new Scale(this.axes.xaxis), y: new Scale(this.axes.yaxis) };
    this.before ??= this.plot.data.filter((t) => (t.mode ?? "lines") === "lines" && !t.fill && t.opacity !== 0 && t.x);
    this.paths(data, held);
    this.words(layout, own, held);
    this.ghosts(held);
    this.say(frame);
    this.plot.dataset.frames = Number(this.plot.dataset.frames ?? 0) + 1;
  }

  type(name) {
    return this.plot._fullLayout[`${name}axis`].type;
  }

  // The headline and the metrics.
  say({ headline, strip }) {
    const main = this.plot.closest('[data-testid="stMain"]') ?? document;
    const shown = main.querySelector(".dpviz-headline");
    if (shown && headline !== undefined && shown.innerHTML !== headline) {
      shown.setAttribute("aria-live", "off"); // it speaks when the hand rests
      shown.innerHTML = headline;
    }
    const metrics = main.querySelector(".dpviz-strip");
    if (metrics && strip !== undefined && metrics.outerHTML !== strip) metrics.outerHTML = strip;
  }

  // --- axes -----------------------------------------------------------------------------------------------------------

  hold(layout) {
    const now = this.plot._fullLayout;
    this.axes ??= { xaxis: { type: now.xaxis.type, range: [...now.xaxis.range] }, yaxis: { type: now.yaxis.type, range: [...now.yaxis.range] } };
    const changed = {};
    for (const name of ["xaxis", "yaxis"]) {
      const [low, high] = layout[name].range;
      const [first, last] = this.axes[name].range;
      const size = last - first;
      const leaves = high > last + 1e-9 * size || low < first - (layout[name].type === "log" ? 0.02 * size : 1e-9);
      if (layout[name].type !== this.axes[name].type || leaves || high - low < FLAT * size) {
        this.axes[name] = layout[name];
        changed[name] = layout[name];
        if (name === "yaxis" && layout.yaxis2) changed.yaxis2 = layout.yaxis2;
      }
    }
    if (!Object.keys(changed).length) return false;
    this.inTurn(async () => {
      if (this.last) await this.relayout(changed); // which draws the curves of before
      if (this.last) this.show(this.last);
    });
    return true;
  }

  // --- curves ---------------------------------------------------------------------------------------------------------

  groups() {
    const found = new Map();
    for (const group of this.plot.querySelectorAll(".scatterlayer .trace")) found.set(group.__data__?.[0]?.trace?.uid, group);
    return found;
  }

  sameTraces(data) {
    const there = this.groups();
    return data.every((trace) => (trace.type ?? "scatter") === "scatter" && (there.has(trace.uid) || trace.opacity === 0));
  }

  paths(data, held) {
    const { width, height } = this.area;
    const across = (v) => held.x.of(v) * width;
    const down = (v) => (1 - held.y.of(v)) * height;
    const groups = this.groups();
    const shown = new Set();
    for (const trace of data) {
      const group = groups.get(trace.uid);
      if (!group) continue;
      shown.add(trace.uid);
      group.style.opacity = trace.opacity ?? 1;
      if (trace.opacity === 0) continue;
      if (trace.mode === "markers") {
        const dots = group.querySelectorAll(".point");
        dots.forEach((dot, i) => dot.setAttribute("transform", `translate(${across(trace.x[i])},${down(trace.y[i])})`));
        continue;
      }
      const d = pathOf(trace.x, trace.y, across, down, Boolean(trace.fill));
      const lines = group.querySelectorAll(".js-line");
      lines.forEach((line, i) => line.setAttribute("d", i || !d ? "M0,0" : d));
      for (const fill of group.querySelectorAll(".js-fill")) fill.setAttribute("d", d || "M0,0");
    }
    for (const [uid, group] of groups) if (!shown.has(uid)) group.style.opacity = 0.25; // is still to be computed
  }

  // Where the curves were before the hand moved.
  ghosts(held) {
    const { left, top, width, height } = this.area;
    const frame = svg("svg", { class: "dpviz-ghosts", x: left, y: top, width, height, overflow: "hidden" }, this.over);
    for (const { x, y, line } of this.before) {
      const d = pathOf(x, y, (v) => held.x.of(v) * width, (v) => (1 - held.y.of(v)) * height, false);
      if (d) svg("path", { d, fill: "none", stroke: line?.color ?? "gray", "stroke-width": 1.25, opacity: 0.35 }, frame);
    }
  }

  // --- words and guides -------------------------------------------------------------------------------------------------

  words(layout, own, held) {
    if (!this.over) {
      const main = this.plot.querySelector(".main-svg");
      this.over = svg("svg", { class: "dpviz-over", width: main.getAttribute("width"), height: main.getAttribute("height") }, null);
      this.plot.append(this.over);
    }
    this.over.replaceChildren();
    const before = this.plot.layout;
    const area = this.area;
    const hides = (selector, index, same) => {
      for (const element of this.plot.querySelectorAll(`${selector}[data-index="${index}"]`)) {
        element.classList.toggle("dpviz-under", !same);
      }
    };
    const same = (list, other, i) => JSON.stringify(list?.[i]) === JSON.stringify(other?.[i]);
    const axesHeld = own.y.low === held.y.low && own.y.high === held.y.high && own.x.high === held.x.high;
    const fixed = (note) => axesHeld || note.yref !== "paper" || note.y === 1;
    (before.shapes ?? []).forEach((shape, i) => hides("path", i, same(layout.shapes, before.shapes, i) && axesHeld));
    (layout.shapes ?? []).forEach((shape, i) => {
      if (!same(layout.shapes, before.shapes, i) || !axesHeld) this.guide(shape, own, held, area);
    });
    const kept = (i) => same(layout.annotations, before.annotations, i) && fixed(layout.annotations[i]) && axesHeld;
    (before.annotations ?? []).forEach((note, i) => hides(".annotation", i, layout.annotations?.[i] && kept(i)));
    (layout.annotations ?? []).forEach((note, i) => {
      if (!kept(i) && note.name !== "end" && note.opacity !== 0) this.word(note, own, held, area);
    });
    if (!(layout.annotations ?? []).every((note, i) => note.name !== "end" || kept(i))) this.ends(layout, held, area);
  }

  guide(shape, own, held, area) {
    if (shape.type !== "line") return;
    const across = (v) => area.left + area.width * coordinate(shape.xref, v, own.x, held.x);
    const down = (v) => area.top + area.height * (1 - coordinate(shape.yref, v, own.y, held.y));
    const places = { x1: across(shape.x0), x2: across(shape.x1), y1: down(shape.y0), y2: down(shape.y1) };
    const { color, width, dash } = shape.line;
    svg("line", { ...places, stroke: color, "stroke-width": width, "stroke-dasharray": dash === "dot" ? "2,3" : "6,4" }, this.over);
  }

  word(note, own, held, area) {
    const x = area.left + area.width * coordinate(note.xref, note.x, own.x, held.x) + (note.xshift ?? 0);
    const flat = note.yref !== "paper" || note.y >= 1 || note.y <= 0 ? null : own.y;
    const y = area.top + area.height * (1 - coordinate(note.yref, note.y, flat, held.y)) - (note.yshift ?? 0);
    const size = note.font?.size ?? 12;
    const anchor = { left: "start", right: "end" }[note.xanchor] ?? "middle";
    const lift = { top: 0.95, bottom: -0.25 }[note.yanchor] ?? 0.35;
    this.text(note.text, { x, y: y + lift * size, anchor, size });
  }

  // The names at the lines' ends, pushed apart as `charts.ends` does.
  ends(layout, held, area) {
    const ends = (layout.meta?.ends ?? []).map((end) => {
      const reach = area.height * (1 - held.y.of(end.y));
      const edge = held.x.of(end.x) >= 1 - 1e-9;
      return { ...end, reach, edge, x: area.width * held.x.of(end.x), wanted: Math.min(Math.max(reach, 0), area.height) - (edge ? 0 : 11) };
    });
    ends.sort((a, b) => Math.max(a.reach, 0) - Math.max(b.reach, 0) || b.y - a.y);
    for (const edge of [true, false]) {
      const chosen = ends.filter((end) => end.edge === edge);
      const places = pushedApart(chosen.map((end) => end.wanted), GAP, 4, area.height - 4);
      chosen.forEach((end, i) => (end.place = places[i]));
    }
    for (const end of ends) {
      const arrow = end.reach < -0.5 ? "↑ " : end.reach > area.height + 0.5 ? "↓ " : "";
      const left = end.edge || end.x < 0.55 * area.width;
      const x = area.left + Math.min(end.x, area.width) + (end.edge ? LEAD : 0);
      const where = { x, y: area.top + end.place + 0.35 * end.size, anchor: left ? "start" : "end", size: end.size };
      this.text(end.text.replace(/>([^<])/, `>${arrow}$1`), where);
    }
  }

  text(words, { x, y, anchor, size }) {
    const family = this.plot._fullLayout.font.family;
    const text = svg("text", { x, y, "text-anchor": anchor, "font-size": size, "font-family": family }, this.over);
    text.style.whiteSpace = "pre";
    for (const { told, bold, color, sub } of runs(words)) {
      const run = svg("tspan", { ...(bold && { "font-weight": "bold" }), ...(sub && { "baseline-shift": "sub", "font-size": "70%" }) }, text);
      if (color) run.style.setProperty("fill", color, "important");
      run.textContent = told;
    }
  }

  // What cannot be moved by hand is drawn by Plotly, as often as it keeps up.
  redraw(frame) {
    this.waiting = frame;
    this.inTurn(async () => {
      const next = this.waiting;
      if (!next) return; // a later frame was drawn, or the server's figure is
      this.waiting = null;
      await this.react(next.figure);
      this.uncover();
      this.say(next);
      this.plot.dataset.frames = Number(this.plot.dataset.frames ?? 0) + 1;
    });
  }
}

// Where a coordinate of a figure with its own axes lies on the held ones, as a share; `own` null: on the paper.
function coordinate(reference, value, own, held) {
  if (reference !== "paper") return held.ofRaw(value);
  return own && value > 0 && value < 1 ? held.ofRaw(own.raw(value)) : value;
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

// As `charts.labels.pushed_apart`: nearest to where they want to be, in order, at least `gap` apart.
function pushedApart(wanted, gap, low, high) {
  const count = wanted.length;
  const least = Math.min(gap, (high - low) / Math.max(count - 1, 1));
  const blocks = [];
  wanted.forEach((place, rank) => {
    let [total, size] = [place - rank * least, 1];
    while (blocks.length && blocks.at(-1)[0] / blocks.at(-1)[1] >= total / size) {
      const [before, many] = blocks.pop();
      [total, size] = [total + before, size + many];
    }
    blocks.push([total, size]);
  });
  const top = high - least * (count - 1);
  const placed = blocks.flatMap(([total, size]) => Array(size).fill(Math.min(Math.max(total / size, low), top)));
  return placed.map((place, rank) => place + rank * least);
}

// Plotly's pseudo-HTML as runs of text.
export function runs(words) {
  const found = [];
  const state = { bold: 0, sub: 0, colors: [] };
  for (const part of words.split(/(<[^>]*>)/)) {
    if (part === "<b>") state.bold += 1;
    else if (part === "</b>") state.bold -= 1;
    else if (part === "<sub>") state.sub += 1;
    else if (part === "</sub>") state.sub -= 1;
    else if (part.startsWith("<span")) state.colors.push(/color:\s*([^;'"]+)/.exec(part)?.[1] ?? null);
    else if (part === "</span>") state.colors.pop();
    else if (part && !part.startsWith("<")) {
      found.push({ told: plain(part), bold: state.bold > 0, sub: state.sub > 0, color: state.colors.at(-1) });
    }
  }
  return found;
}

function plain(text) {
  const entities = { lt: "<", gt: ">", amp: "&", quot: '"', "#39": "'", nbsp: "\u00a0" };
  return text.replace(/&(lt|gt|amp|quot|#39|nbsp);/g, (_, name) => entities[name]);
}

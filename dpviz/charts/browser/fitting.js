// A chart as it is at the size that the screen has for it. In a large window it fills the height that is left. On a phone
// the plot has the width, and the names that lines carry stand below as chips.

import { axesOf, Scale } from "./axes.js";
import { ends, GAP } from "./ends.js";

export const NARROW = 600; // pixels of a chart below which it is drawn so
const HEIGHT = 310; // of such a chart, at most; where it stands, --dpviz-most may say less
const [UPRIGHT, SHARE, CHIP] = [640, 0.45, 47]; // a window's height, the chart's share of it, and that of a row of names
const [WIDE, LOWEST, HIGHEST, STEP] = [961, 330, 900, 10]; // pixels: of a window, and of a chart that fills its height
const [BELOW, CAUTION, LINE_HIGH] = [150, 30, 18]; // pixels below such a chart that are in sight without scrolling, of a caution, and of each more line of it
// Presented: the pixels of a usual page that are as high as the window; what stands below the chart, in pixels and in
// shares of the window's height; and the share of the window that all plots have at least, of which type makes room.
const SLIDE = { high: 560, below: 66, share: 0.075, plots: 0.458, step: 0.05, empty: 26 };
const TABLET = 0.29; // of a window's height: a chart above all controls
const EDGE = 12; // pixels right of the plot
const [LETTER, LETTER_HIGH] = [6.6, 1.2]; // pixels of one, about, and its height in sizes of its font
const LABEL = 15; // pixels from one label of an upright axis to the next, at least
const [PANEL, BELOW_PANEL] = [240, 76]; // pixels from one of stacked panels to the next, and of the axis and the name between them
const [ROW, BAR, BESIDE] = [36, 60, 150]; // pixels of a row that has its name above its dot, above its bar, and of the words right of all dots, at most

export const isNarrow = (plot) => plot.clientWidth > 0 && plot.clientWidth < NARROW;

// How many times as large a chart is that is presented: type for the last row, as far as the plot has its share.
export function slideScale(plot, { margin }, cautions) {
  const width = plot.parentElement.clientWidth;
  const most = Math.max(Math.min(window.innerHeight / SLIDE.high, width / NARROW), 1);
  if (window.innerWidth < WIDE) return most;
  const height = roomBelow(plot, belowSlide(plot), cautions, most);
  const taken = (scale) => (width - scale * (margin.l + margin.r)) * (height - scale * (margin.t + margin.b));
  const wanted = (SLIDE.plots * window.innerHeight * window.innerWidth) / document.querySelectorAll(".dpviz-chart").length;
  let scale = most;
  while (scale > 1 && taken(scale) < wanted) scale -= SLIDE.step;
  return Math.max(scale, 1);
}

// Pixels at a chart's top, of a slide's at most, in which nothing stands: above the title of its axis and the names over its plot.
export function emptyTop({ annotations = [], margin }) {
  const above = annotations.filter(({ yref, y, yanchor }) => yanchor === "bottom" && y === 1 && /^paper$|domain$/.test(yref));
  const reached = above.map(({ yshift = 0, font }) => margin.t - yshift - LETTER_HIGH * font.size);
  return Math.max(Math.min(SLIDE.empty, ...reached), 0);
}

// Where a chart stands, --dpviz-below may say what is below it, in pixels.
const belowSlide = (plot) => Number(getComputedStyle(plot).getPropertyValue("--dpviz-below")) || SLIDE.below + SLIDE.share * window.innerHeight;

// Pixels from a chart's top to the `below` pixels, and `cautions` of so many letters, that are in sight below it.
function roomBelow(plot, below, cautions, scale = 1) {
  const above = plot.getBoundingClientRect().top + (plot.closest('[data-testid="stMain"]')?.scrollTop ?? 0);
  const line = plot.parentElement.clientWidth / (scale * LETTER);
  const high = cautions.map((letters) => scale * (CAUTION + LINE_HIGH * Math.floor(letters / line)));
  return window.innerHeight - above - below - high.reduce((sum, one) => sum + one, 0);
}

// How high a chart is here, in pixels; null where its figure says so. `fills`: it takes the height that the window leaves,
// in steps and within bounds, with a view of what stands below it, `cautions` of so many letters among it; all of that
// `scale` times as large where it is presented. On a phone, where it stays in sight above its controls, it leaves room for them.
export function heightHere(plot, layout, fills, cautions = [], scale = null) {
  const { height, margin, meta } = layout;
  if (isNarrow(plot)) {
    const most = Number(getComputedStyle(plot).getPropertyValue("--dpviz-most")) || HEIGHT;
    const names = chipsOf(layout).length;
    const chips = CHIP * (names > 9 ? 2 : Math.ceil(names / 3));
    return window.innerHeight < UPRIGHT ? most : Math.min(most, Math.floor(SHARE * window.innerHeight - chips));
  }
  if (!(fills || scale)) return null;
  if (window.innerWidth < WIDE) return scale || meta?.rows ? null : Math.min(height, Math.max(TABLET * window.innerHeight, LOWEST));
  if (scale) return Math.max(Math.floor(roomBelow(plot, belowSlide(plot), cautions, scale) / scale), meta?.rows ? height : 0);
  const left = STEP * Math.floor(roomBelow(plot, BELOW, cautions) / STEP);
  const ofNames = margin.t + margin.b + GAP * (meta?.ends?.length ?? 0); // else they would lie on each other
  return Math.max(Math.min(Math.max(left, LOWEST, Math.min(ofNames, height)), HIGHEST), meta?.rows ? height : 0);
}

const cache = new WeakMap(); // figure → the same at a size: one figure stays one figure

// A figure as it is at the chart's width, and where `height` says so at that height.
export function fitted(figure, plot, height) {
  const width = isNarrow(plot) && plot.clientWidth;
  if (!width && !height) return figure;
  const size = `${width} ${height}`;
  const before = cache.get(figure);
  if (before?.size === size) return before.figure;
  const layout = width ? narrowLayout(figure.layout, width, height) : ofHeight(figure.layout, height);
  const made = { data: figure.data, layout };
  cache.set(figure, { size, figure: made });
  return made;
}

// The names at lines' ends find other places.
function ofHeight(layout, height) {
  const own = axesOf(layout);
  if (!own || !layout.meta?.ends) return { ...layout, height };
  const scales = { x: new Scale(own.xaxis), y: new Scale(own.yaxis) };
  const notes = layout.annotations.filter((note) => note.name !== "end");
  const inner = height - layout.margin.t - layout.margin.b;
  return { ...layout, height, annotations: [...ends(layout.meta.ends, { own: scales, held: scales }, inner), ...notes] };
}

// The names on lines and at their ends, of each the highest first.
function chipsOf({ annotations = [], meta }) {
  const onLines = annotations.filter(onLine).map(({ name, text, y }) => ({ line: name.slice(LINE.length), text, y }));
  return [onLines, meta?.ends ?? []].flatMap((names) => [...names].sort((a, b) => b.y - a.y));
}

const LINE = "line "; // and a line's name: what a name that stands on it is called
const onLine = ({ name }) => name?.startsWith(LINE);

const RING = "ring"; // what the name beside a ring is called

// A ring's name with its middle a line off the top and the bottom of a plot that is `inner` pixels high.
function inside(note, yaxis, inner) {
  const reach = inner * (1 - new Scale(yaxis).ofRaw(note.y));
  return { ...note, yshift: reach - Math.min(Math.max(reach - note.yshift, GAP), inner - GAP) };
}

// The names of guides and rings, which `charts.names` places anew for a phone.
const ANEW = new Set([RING, "upright", "level"]);

function narrowLayout(layout, width, most) {
  if (layout.meta?.rows) return namesAbove(layout, layout.meta.rows, width);
  if (layout.meta?.panels) return stacked(layout, width);
  const margin = { ...layout.margin, r: layout.meta?.ends ? EDGE : layout.margin.r };
  const inner = width - margin.l - margin.r;
  const others = (layout.annotations ?? []).filter((note) => note.name !== "end" && !onLine(note) && !ANEW.has(note.name));
  const annotations = [...others, ...(layout.meta?.phone ?? [])];
  const xaxis = layout.xaxis && { ...layout.xaxis, tickangle: 0, ...thinned(layout.xaxis, inner) };
  if (xaxis?.title?.text?.length * LETTER > inner) {
    xaxis.title = { ...xaxis.title, text: inTwoLines(xaxis.title.text) };
    margin.b += 16;
  }
  const height = Math.min(layout.height, most);
  const yaxis = layout.yaxis && { ...layout.yaxis, ...apart(layout.yaxis, height - margin.t - margin.b) };
  const within = annotations.map((note) => (note.name === RING ? inside(note, layout.yaxis, height - margin.t - margin.b) : note));
  // A finger that moves over the chart scrolls the page.
  const other = { ...layout, height, margin, annotations: within, meta: { ...layout.meta, ends: layout.meta?.ends && [], chips: chipsOf(layout) }, dragmode: false };
  if (xaxis) other.xaxis = xaxis;
  if (yaxis) other.yaxis = yaxis;
  return other;
}

// Panels below each other, each as wide as the chart: `charts.panels` has them side by side.
function stacked(layout, width) {
  const numbers = Object.keys(layout).flatMap((key) => /^xaxis(\d+)$/.exec(key)?.[1] ?? []);
  const margin = { ...layout.margin, r: EDGE };
  const inner = PANEL * numbers.length - BELOW_PANEL; // pixels, of all panels and what is between them
  const axes = numbers.map((number, i) => {
    const [xaxis, top] = [layout[`xaxis${number}`], 1 - (PANEL * i) / inner];
    const yaxis = { ...layout[`yaxis${number}`], domain: [Math.max(top - (PANEL - BELOW_PANEL) / inner, 0), top], showticklabels: true };
    return { [`xaxis${number}`]: { ...xaxis, domain: [0, 1], tickangle: 0, ...thinned(xaxis, width - margin.l - margin.r) }, [`yaxis${number}`]: yaxis };
  });
  const annotations = layout.annotations.filter((note) => note.name !== "names"); // chips
  const meta = { ...layout.meta, chips: layout.meta.panels };
  return Object.assign({ ...layout, height: inner + margin.t + margin.b, margin, annotations, meta, dragmode: false }, ...axes);
}

// Rows of dots or bars: each name above its row, and not beside it; of bars, which need the width, the words as well.
function namesAbove(layout, names, width) {
  const bars = layout.meta.bars;
  const up = bars ? 0.5 : 0.42; // rows from its middle
  const margin = { ...layout.margin, l: EDGE, r: bars ? EDGE : Math.min(wordsBeside(layout.annotations), BESIDE) };
  const above = { xref: "paper", x: 0, xanchor: "left", yref: "y", yanchor: "middle", showarrow: false, font: { size: 12 } };
  const words = layout.annotations.map((note) => (bars && note.yref === "y" ? { ...note, x: 1, xanchor: "right", xshift: 0, y: note.y - up } : note));
  const annotations = [...words, ...names.map((text, row) => ({ ...above, text, y: row - up }))];
  const yaxis = { ...layout.yaxis, range: [names.length - 0.5, -0.8], showticklabels: false };
  const height = (names.length + 0.3) * (bars ? BAR : ROW) + margin.t + margin.b;
  const title = { ...layout.xaxis.title, text: inTwoLines(layout.xaxis.title.text) };
  return { ...layout, height: height + 16, margin: { ...margin, b: margin.b + 16 }, annotations, yaxis, xaxis: { ...layout.xaxis, title, tickangle: 0, ...thinned(layout.xaxis, width - margin.l - margin.r) }, dragmode: false };
}

// Pixels that the longest words right of the dots take.
function wordsBeside(annotations) {
  const lengths = annotations.filter(({ yref }) => yref === "y").map(({ text }) => text.replace(/<[^>]*>/g, "").length);
  return 2 * EDGE + 1.2 * LETTER * Math.max(...lengths, 0);
}

// Every second label, or every third, where all would not fit.
function thinned({ ticktext, tickvals }, inner) {
  if (!ticktext?.length) return {};
  const longest = Math.max(...ticktext.map((text) => text.replace(/<[^>]*>/g, "").length));
  const every = Math.ceil((ticktext.length * (longest * LETTER + 8)) / inner);
  return { tickvals, ticktext: ticktext.map((text, i) => (i % every ? "" : text)) };
}

// The labels of an upright axis that is `inner` pixels high, without those that would touch: powers of ten stay first.
function apart({ ticktext, tickvals, range, type }, inner) {
  if (!ticktext?.length || !range) return {};
  const scale = new Scale({ range, type });
  const places = tickvals.map((value) => inner * scale.of(value));
  const round = (k) => type === "log" && Number.isInteger(Math.round(Math.log10(tickvals[k]) * 1e6) / 1e6);
  const order = [...places.keys()].sort((a, b) => round(b) - round(a) || a - b);
  const kept = [];
  for (const k of order) if (kept.every((other) => Math.abs(places[other] - places[k]) >= LABEL)) kept.push(k);
  return { ticktext: ticktext.map((text, k) => (kept.includes(k) ? text : "")) };
}

function inTwoLines(text) {
  const middle = text.length / 2;
  const spaces = [...text.matchAll(/ /g)].map((match) => match.index);
  const at = spaces.sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle))[0];
  return at === undefined ? text : `${text.slice(0, at)}<br>${text.slice(at + 1)}`;
}

// Curves that are still to be computed: the last ones stay, faint, and their names say "…" in place of a value.

import { axesOf, sameQuantities, Scale } from "./axes.js";
import { ends } from "./ends.js";

const FAINT = 0.25; // opacity of such a curve

// `figure` with the curves of `last`, a figure that had all, which it lacks. The same figure where there are none.
export function withEarlier(figure, last) {
  const [own, before] = [axesOf(figure.layout), last && axesOf(last.layout)];
  if (!own || !before || last === figure || !sameQuantities(own, before)) return figure;
  const there = new Set(figure.data.map((trace) => trace.uid));
  const lacking = last.data.filter((trace) => !there.has(trace.uid) && trace.name && trace.mode !== "markers"); // a point says what is true now
  if (!lacking.length) return figure;
  const names = new Set(lacking.map((trace) => trace.name));
  const has = new Set(figure.layout.meta?.ends?.map((end) => end.line));
  const more = (last.layout.meta?.ends ?? []).filter((end) => names.has(end.line) && !has.has(end.line)).map(unknown);
  return { data: [...lacking.map(faint), ...figure.data], layout: more.length ? named(figure.layout, last.layout, more, own) : figure.layout };
}

function faint({ hovertemplate, ...trace }) {
  return { ...trace, opacity: Math.min(trace.opacity ?? 1, FAINT), hoverinfo: "skip" };
}

function unknown(end) {
  return { ...end, text: end.text.replace(/(<\/span>).*$/, "$1 …") };
}

// A layout with more names at lines' ends, and room for them.
function named(layout, before, more, own) {
  const all = [...(layout.meta?.ends ?? []), ...more];
  const scales = { x: new Scale(own.xaxis), y: new Scale(own.yaxis) };
  const margin = { ...layout.margin, r: Math.max(layout.margin.r, before.margin.r) };
  const notes = (layout.annotations ?? []).filter((note) => note.name !== "end");
  const inner = layout.height - margin.t - margin.b;
  return { ...layout, margin, annotations: [...ends(all, { own: scales, held: scales }, inner), ...notes], meta: { ...layout.meta, ends: all } };
}

// A chart on a phone: the plot has the width, and the names that lines carry at their ends stand below as chips.

export const NARROW = 600; // pixels of a chart below which it is drawn so
const HEIGHT = 310; // of such a chart, at most; where it stands, --dpviz-most may say less
const EDGE = 12; // pixels right of the plot
export const ALONE = " from ε alone"; // is said once there, above the plot
const LETTER = 6.6; // pixels of one, about
const [ROW, BESIDE] = [36, 150]; // pixels of a row that has its name above its dot, and of the words right of all dots

export const isNarrow = (plot) => plot.clientWidth > 0 && plot.clientWidth < NARROW;

const cache = new WeakMap(); // figure → the same for a narrow chart: one figure stays one figure

export function narrowed(figure, plot) {
  const width = plot.clientWidth;
  const most = Number(getComputedStyle(plot).getPropertyValue("--dpviz-most")) || HEIGHT;
  const before = cache.get(figure);
  if (before?.width === width && before.most === most) return before.figure;
  const made = { data: figure.data, layout: narrowLayout(figure.layout, width, most) };
  cache.set(figure, { width, most, figure: made });
  return made;
}

function narrowLayout(layout, width, most) {
  if (layout.meta?.rows) return namesAbove(layout, layout.meta.rows);
  const margin = { ...layout.margin, r: layout.meta?.ends ? EDGE : layout.margin.r };
  const inner = width - margin.l - margin.r;
  const says = layout.meta?.ends?.some((end) => end.text.includes(ALONE)) ? " · P(A): what ε alone allows" : "";
  const annotations = (layout.annotations ?? [])
    .filter((note) => note.name !== "end")
    .map((note) => (note.name === "title" ? { ...note, text: note.text + says } : note));
  const xaxis = layout.xaxis && { ...layout.xaxis, tickangle: 0, ...thinned(layout.xaxis, inner) };
  if (xaxis?.title?.text?.length * LETTER > inner) {
    xaxis.title = { ...xaxis.title, text: inTwoLines(xaxis.title.text) };
    margin.b += 16;
  }
  const { ends } = layout.meta ?? {};
  const height = Math.min(layout.height, most);
  // A finger that moves over the chart scrolls the page.
  const other = { ...layout, height, margin, annotations, meta: { ...layout.meta, ends: ends && [], chips: ends ?? [] }, dragmode: false };
  if (xaxis) other.xaxis = xaxis;
  return other;
}

// Rows of dots: each name above its row, and not beside it.
function namesAbove(layout, names) {
  const margin = { ...layout.margin, l: EDGE, r: BESIDE };
  const above = { xref: "paper", x: 0, xanchor: "left", yref: "y", yanchor: "middle", showarrow: false, font: { size: 12 } };
  const annotations = [...layout.annotations, ...names.map((text, row) => ({ ...above, text, y: row - 0.42 }))];
  const yaxis = { ...layout.yaxis, range: [names.length - 0.5, -0.8], showticklabels: false };
  const height = (names.length + 0.3) * ROW + margin.t + margin.b;
  const title = { ...layout.xaxis.title, text: inTwoLines(layout.xaxis.title.text) };
  return { ...layout, height: height + 16, margin: { ...margin, b: margin.b + 16 }, annotations, yaxis, xaxis: { ...layout.xaxis, title }, dragmode: false };
}

// Every second label, or every third, where all would not fit.
function thinned({ ticktext, tickvals }, inner) {
  if (!ticktext?.length) return {};
  const longest = Math.max(...ticktext.map((text) => text.replace(/<[^>]*>/g, "").length));
  const every = Math.ceil((ticktext.length * (longest * LETTER + 8)) / inner);
  return { tickvals, ticktext: ticktext.map((text, i) => (i % every ? "" : text)) };
}

function inTwoLines(text) {
  const middle = text.length / 2;
  const spaces = [...text.matchAll(/ /g)].map((match) => match.index);
  const at = spaces.sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle))[0];
  return at === undefined ? text : `${text.slice(0, at)}<br>${text.slice(at + 1)}`;
}

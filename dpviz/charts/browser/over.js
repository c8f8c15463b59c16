// What lies over a chart while the hand moves: its words and guides, and the ticks of axes that Plotly has not drawn.
// Plotly's own are hidden meanwhile.

import { sameRange } from "./axes.js";
import { made } from "./dom.js";

const PITCH = 1.3; // of a line's size from it to the next, as Plotly has it
const TICK = { length: 4, color: "rgba(128,128,128,0.45)", size: 12.5, off: { xaxis: 12, yaxis: 4 } }; // as charts.axes, pixels
const NS = "http://www.w3.org/2000/svg";
const SHIFTS = { left: "0", top: "0", right: "-100%", bottom: "-100%" }; // of a text, by its anchor
const MARKUP = new Set(["B", "I", "SUB", "SUP", "BR", "SPAN"]);

export function svg(kind, attributes, parent) {
  const element = document.createElementNS(NS, kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  parent?.append(element);
  return element;
}

// Plotly's pseudo-HTML as nodes: it is parsed where nothing runs or loads, and only this markup stays.
export function nodes(text) {
  const { body } = new DOMParser().parseFromString(`<body>${text}`, "text/html");
  for (const element of body.querySelectorAll("*")) {
    for (const { name } of [...element.attributes]) if (name !== "style") element.removeAttribute(name);
    if (!MARKUP.has(element.tagName)) element.replaceWith(...element.childNodes);
  }
  return body.childNodes;
}

// A headline's words, and how many characters they are: the place is fixed, the type follows. A page that was handed out
// has its reader's font, which may be wider than the place counts with: then more characters are told.
export function head(shown, headline) {
  shown.innerHTML = headline;
  let letters = shown.textContent.length;
  shown.style.setProperty("--n", letters);
  const place = shown.closest(".dpviz-head");
  for (let tries = 0; place && tries < 9 && shown.scrollHeight > shown.clientHeight + 2; tries += 1) {
    letters *= 1.12;
    shown.style.setProperty("--n", Math.round(letters));
  }
}

export class Over {
  constructor(plot) {
    this.plot = plot;
    const subplot = plot.querySelector(".cartesianlayer .subplot.xy");
    this.lines = svg("g", {}, null);
    subplot.insertBefore(this.lines, subplot.querySelector(":scope > .overplot")); // under the curves
    this.words = made("div", "dpviz-over", plot);
    this.words.style.fontFamily = plot._fullLayout.font.family;
    this.drawn = { lines: [], words: [] }; // elements, and what each was drawn from
    plot.classList.add("dpviz-moving");
  }

  remove() {
    this.lines.remove();
    this.words.remove();
    this.plot.classList.remove("dpviz-moving", "dpviz-xaxis", "dpviz-yaxis");
  }

  // What `layout` says and the ticks of `axes`, on `scales` that may be on their way there; `area`: the plot's box in
  // pixels, `plotted`: the axes that Plotly drew.
  show(layout, axes, plotted, scales, area) {
    const across = (reference, x) => area.left + area.width * (reference === "paper" ? x : scales.x.ofRaw(x));
    const down = (reference, y) => area.top + area.height * (1 - (reference === "paper" ? y : scales.y.ofRaw(y)));
    const lines = [];
    const words = [];
    for (const [name, scale] of [["xaxis", scales.x], ["yaxis", scales.y]]) {
      const own = sameRange(axes[name], plotted[name]) && sameRange({ range: [scale.low, scale.high] }, plotted[name]);
      this.plot.classList.toggle(`dpviz-${name}`, !own);
      if (!own) ticks(name, axes[name], scale, area, lines, words);
    }
    for (const { type, xref, yref, x0, x1, y0, y1, line } of layout.shapes ?? []) {
      if (type === "line") lines.push({ ...line, d: `M${across(xref, x0)},${down(yref, y0)}L${across(xref, x1)},${down(yref, y1)}` });
    }
    for (const note of layout.annotations ?? []) {
      if (note.visible === false || note.opacity === 0) continue;
      const [x, y] = [across(note.xref, note.x) + (note.xshift ?? 0), down(note.yref, note.y) - (note.yshift ?? 0)];
      const [right, low] = note.showarrow ? [note.ax, note.ay] : [0, 0];
      if (note.showarrow) lines.push({ color: note.arrowcolor, width: 1, d: `M${x},${y}l${right},${low}` });
      words.push({ ...note, size: note.font?.size ?? 12, x: x + right, y: y + low });
    }
    this.put("lines", lines, () => svg("path", { fill: "none" }, this.lines), stroke);
    this.put("words", words, () => made("div", "", this.words), write);
  }

  // The k-th of the elements shows the k-th of these; what did not change is left alone.
  put(kind, wanted, another, set) {
    const drawn = this.drawn[kind];
    wanted.forEach((item, k) => {
      drawn[k] ??= { element: another(), item: {} };
      set(drawn[k].element, item, drawn[k].item);
      drawn[k].item = item;
    });
    for (const { element } of drawn.splice(wanted.length)) element.remove();
  }
}

function ticks(name, { tickvals = [], ticktext = [], ticks: marked, tickfont, minor, showgrid, gridcolor }, scale, area, lines, words) {
  const { left, top, width, height } = area;
  const across = name === "xaxis";
  const seen = (values) => values.map((value, k) => [scale.of(value), ticktext[k]]).filter(([share]) => share >= -1e-9 && share <= 1 + 1e-9);
  const at = (share) => (across ? left + share * width : top + (1 - share) * height);
  const grid = (values, color) => {
    for (const [share] of seen(values)) lines.push({ color, width: 1, d: across ? `M${at(share)},${top}v${height}` : `M${left},${at(share)}h${width}` });
  };
  if (minor?.showgrid) grid(minor.tickvals, minor.gridcolor);
  if (showgrid) grid(tickvals, gridcolor);
  for (const [share, text = ""] of seen(tickvals)) {
    const place = across ? { x: at(share), y: top + height + TICK.off.xaxis, yanchor: "top" } : { x: left - TICK.off.yaxis, y: at(share), xanchor: "right" };
    words.push({ ...place, text, size: tickfont?.size ?? TICK.size, tick: name });
    if (marked) lines.push({ color: TICK.color, width: 1, d: `M${at(share)},${top + height}v${TICK.length}` });
  }
}

function stroke(path, { d, color, width, dash }, before) {
  if (d !== before.d) path.setAttribute("d", d);
  if (color === before.color && width === before.width && dash === before.dash) return;
  Object.assign(path.style, { stroke: color, strokeWidth: width, strokeDasharray: { dot: "2,3", dash: "6,4" }[dash] ?? "none" });
}

function write(element, { text, size, x, y, xanchor, yanchor, borderpad = 1, opacity = 1, tick = "" }, before) {
  if (text !== before.text) element.replaceChildren(...nodes(text));
  if (tick !== before.tick) element.dataset.tick = tick;
  const pad = { left: borderpad + 1, right: -borderpad - 1 }[xanchor] ?? 0; // its border has a pixel
  const transform = `translate(${x + pad}px, ${y}px) translate(${SHIFTS[xanchor] ?? "-50%"}, ${SHIFTS[yanchor] ?? "-50%"})`;
  Object.assign(element.style, { transform, opacity, fontSize: `${size}px` });
}

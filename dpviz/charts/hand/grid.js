// Grid lines, ticks and their words on axes that Plotly has not drawn: its own are hidden, and these look the same.

import { sameRange } from "./axes.js";
import { svg, write } from "./words.js";

// Where Plotly has an axis' ticks, and its grid lines.
const LAYERS = {
  xaxis: { ticks: ".xaxislayer-above", grid: ".gridlayer > .x, .minor-gridlayer > .x" },
  yaxis: { ticks: ".yaxislayer-above", grid: ".gridlayer > .y, .minor-gridlayer > .y" },
};

export class Grid {
  // `over`: lies over the chart, where words may stand out of it; `area`: the plot's box in pixels.
  constructor(plot, over, area) {
    const subplot = plot.querySelector(".cartesianlayer .subplot.xy");
    this.area = area;
    this.lines = svg("g", {}, null);
    subplot.insertBefore(this.lines, subplot.querySelector(":scope > .overplot")); // under the curves
    this.words = svg("g", {}, over);
    this.axes = Object.entries(LAYERS).map(([name, { ticks, grid }]) => {
      const layer = subplot.querySelector(`:scope > ${ticks}`);
      const hides = [layer, ...subplot.querySelectorAll(grid)].filter(Boolean);
      return { name, layer, hides, across: name === "xaxis", drawn: [], built: null };
    });
  }

  remove() {
    this.lines.remove();
    this.words.remove();
    for (const { hides } of this.axes) for (const layer of hides) layer.classList.remove("dpviz-under");
  }

  // The ticks of `axes`, on `scales` that may be on their way there; Plotly's own where it drew that axis: `plotted`.
  show(axes, plotted, scales) {
    for (const axis of this.axes) {
      const scale = axis.across ? scales.x : scales.y;
      const told = axes[axis.name];
      const own = sameRange(told, plotted[axis.name]) && sameRange({ range: [scale.low, scale.high] }, plotted[axis.name]);
      for (const layer of axis.hides) layer.classList.toggle("dpviz-under", !own);
      const wanted = own ? null : told;
      if (axis.built !== wanted) this.build(axis, wanted);
      for (const { element, value, x, y } of axis.drawn) this.place(element, scale.of(value), axis.across, x, y);
    }
  }

  place(element, share, across, x, y) {
    const { left, top, width, height } = this.area;
    const at = across ? [left + share * width, y] : [x, top + (1 - share) * height];
    element.setAttribute("transform", `translate(${at[0]},${at[1]})`);
    element.style.display = share < -1e-9 || share > 1 + 1e-9 ? "none" : "";
  }

  build(axis, told) {
    for (const { element } of axis.drawn) element.remove();
    Object.assign(axis, { built: told, drawn: [] });
    if (!told) return;
    const { tickvals = [], ticktext = [], minor, showgrid, gridcolor } = told;
    if (minor?.showgrid) this.gridLines(axis, minor.tickvals, minor.gridcolor);
    if (showgrid) this.gridLines(axis, tickvals, gridcolor);
    // As Plotly drew one of them: where it drew none, none is there before the hand rests.
    const [mark, words] = ["path", "text"].map((kind) => axis.layer?.querySelector(kind));
    tickvals.forEach((value, i) => {
      if (mark) this.like(mark, value, axis, this.lines);
      if (words && ticktext[i]) write(this.like(words, value, axis, this.words), ticktext[i]);
    });
  }

  like(model, value, axis, parent) {
    const element = model.cloneNode(false);
    parent.append(element);
    const { e: x, f: y } = model.transform.baseVal.consolidate()?.matrix ?? { e: 0, f: 0 };
    axis.drawn.push({ element, value, x, y });
    return element;
  }

  gridLines(axis, values, color) {
    const { left, top, width, height } = this.area;
    const d = axis.across ? `M0,${top}v${height}` : `M${left},0h${width}`;
    for (const value of values) {
      const element = svg("path", { d, class: "crisp", fill: "none", stroke: color, "stroke-width": 1 }, this.lines);
      axis.drawn.push({ element, value, x: 0, y: 0 });
    }
  }
}

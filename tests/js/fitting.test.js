// A chart of panels: side by side where there is room, below each other on a phone.

import assert from "node:assert/strict";
import test from "node:test";

import { browser } from "./elements.js";

browser();
const { emptyTop, fitted } = await import("dpviz/fitting.js");

const ticks = { tickvals: [0, 50, 100], ticktext: ["0", "50", "100"] };
const side = (first, last) => ({ range: [0, 100], domain: [first, last], ...ticks });
const up = (shown) => ({ range: [0, 1], domain: [0, 1], showticklabels: shown });
const PANELS = {
  data: [],
  layout: {
    height: 430,
    margin: { l: 50, r: 16, t: 46, b: 52 },
    annotations: [{ name: "title", text: "ε" }, { name: "names", text: "DP" }, { text: "a", xref: "x2 domain" }, { text: "b", xref: "x3 domain" }],
    xaxis2: side(0, 0.48), yaxis2: up(true), xaxis3: side(0.52, 1), yaxis3: up(false),
    meta: { panels: [{ line: "DP", text: "DP" }] },
  },
};

test("panels stand side by side where there is room", () => {
  assert.equal(fitted(PANELS, { clientWidth: 900 }, null), PANELS);
  const { layout } = fitted(PANELS, { clientWidth: 900 }, 600);
  assert.deepEqual([layout.height, layout.xaxis2.domain, layout.yaxis3.domain], [600, [0, 0.48], [0, 1]]);
});

test("panels stand below each other on a phone, each with the whole width and its own ticks", () => {
  const { layout } = fitted(PANELS, { clientWidth: 358 }, 310);
  const [first, second] = [layout.yaxis2, layout.yaxis3];
  for (const axis of [layout.xaxis2, layout.xaxis3]) assert.deepEqual(axis.domain, [0, 1]);
  assert.equal(first.domain[1], 1);
  assert.ok(Math.abs(second.domain[0]) < 1e-9, "down to the end of the last");
  const inner = layout.height - layout.margin.t - layout.margin.b;
  assert.ok((first.domain[0] - second.domain[1]) * inner >= 70, "room for an axis and a name");
  for (const { domain } of [first, second]) assert.ok((domain[1] - domain[0]) * inner >= 150, "and for the curves");
  assert.ok(first.showticklabels && second.showticklabels);
  assert.deepEqual(layout.meta.chips, [{ line: "DP", text: "DP" }], "names of curves are chips");
  assert.deepEqual(layout.annotations.map((note) => note.text), ["ε", "a", "b"]);
});

test("rows on a phone leave their words the width that they need, and labels stand upright", () => {
  const beside = (text, y) => ({ text, xref: "paper", x: 1, yref: "y", y });
  const xaxis = { range: [0, 1], title: { text: "ε" }, tickvals: [1, 2, 3, 4, 5, 6], ticktext: ["1.0", "1.2", "1.4", "1.6", "1.8", "2.0"] };
  const rows = (...texts) => ({ data: [], layout: { height: 430, margin: { l: 90, r: 170, t: 28, b: 52 }, annotations: texts.map(beside), xaxis, yaxis: {}, meta: { rows: texts } } });
  const short = fitted(rows("<b>2.6</b>", "<b>0.9462</b>"), { clientWidth: 366 }, 310).layout;
  assert.ok(short.margin.r < 80, "most of the width is the plot's");
  assert.equal(short.xaxis.tickangle, 0);
  const long = fitted(rows("<b>0.9462</b>, which is a bound of the method that the paper names"), { clientWidth: 300 }, 310).layout;
  assert.equal(long.margin.r, 150);
  assert.ok(long.xaxis.ticktext.filter(Boolean).length < 6, "fewer labels where there is less room");
});

test("names of upright guides that would lie on each other on a phone stand in rows", () => {
  const named = (text, x, xanchor = "left") => ({ name: "upright", text, x, xref: "paper", xanchor, xshift: xanchor === "left" ? 6 : -6, yshift: 0 });
  const annotations = [named("largest for ε = 0.1", 0.27), named("yours", 0.47), named("least error", 0.72, "right"), { text: "other", yshift: 3 }];
  const layout = { height: 430, margin: { l: 40, r: 12, t: 46, b: 52 }, annotations, xaxis: { range: [0, 1], ...ticks }, yaxis: { range: [0, 1], ...ticks } };
  const rows = fitted({ data: [], layout }, { clientWidth: 400 }, 310).layout.annotations.map((note) => note.yshift + 0);
  assert.deepEqual(rows, [0, -18, -36, 3]);
  const apart = fitted({ data: [], layout: { ...layout, annotations: [named("a", 0.1), named("b", 0.5)] } }, { clientWidth: 400 }, 310);
  assert.deepEqual(apart.layout.annotations.map((note) => note.yshift + 0), [0, 0]);
});

test("a slide takes from a chart's top what is empty, and no name that stands above its plot", () => {
  const title = { text: "ε", yref: "paper", y: 1, yanchor: "bottom", yshift: 7, font: { size: 13 } };
  const row = (k) => ({ text: "mean", yref: "paper", y: 1, yanchor: "bottom", yshift: 3 + 17 * k, font: { size: 12.5 } });
  const guide = { text: "C", yref: "paper", y: 1, yanchor: "top", yshift: 0, font: { size: 12 } };
  assert.equal(emptyTop({ margin: { t: 48 }, annotations: [title, guide] }), 25.4);
  assert.equal(emptyTop({ margin: { t: 48 } }), 26);
  assert.equal(emptyTop({ margin: { t: 31 }, annotations: [row(0)] }), 13);
  assert.equal(emptyTop({ margin: { t: 31 }, annotations: [row(0), row(1)] }), 0);
});

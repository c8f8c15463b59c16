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

test("names of guides and rings stand on a phone where they were placed for one", () => {
  const named = (name, x, more) => ({ name, text: name, x, xref: "paper", y: 0.5, yref: "paper", ...more });
  const annotations = [named("upright", 0.1), named("level", 0.2), named("ring", 0.3), { text: "other", x: 0.4 }, named("end", 0.5), named("line A", 0.6)];
  const phone = [named("upright", 0.7), named("ring", 0.8, { yref: "y", yshift: 9 })];
  const layout = { height: 430, margin: { l: 40, r: 12, t: 46, b: 52 }, annotations, xaxis: { range: [0, 1], ...ticks }, yaxis: { range: [0, 1], ...ticks }, meta: { phone } };
  const shown = (clientWidth) => fitted({ data: [], layout }, { clientWidth }, 310).layout.annotations.map((note) => note.x);
  assert.deepEqual(shown(400), [0.4, 0.7, 0.8]);
  assert.deepEqual(shown(900), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
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

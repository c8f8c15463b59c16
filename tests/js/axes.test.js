// Axes that hold, the names at lines' ends on them, and figures as they come from the server.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { axesOf, blended, following, kept, placed, sameQuantities, sameView, Scale } from "./axes.js";
import { unpacked } from "./columns.js";
import { ends } from "./ends.js";

const { figures, packed, columns } = JSON.parse(readFileSync("cases.json"));

const axis = (first, last, type = "linear") => ({ type, range: [first, last], title: { text: "a" } });
const axes = (x, y) => ({ xaxis: x, yaxis: y, margin: { l: 1 }, titles: "a" });
const X = axis(0, 4, "log");
const close = (one, other, slack = 1e-6) => assert.ok(Math.abs(one - other) <= slack * Math.max(1, Math.abs(other)), `${one} and ${other}`);

test("a scale goes there and back", () => {
  const scale = new Scale(X);
  assert.equal(scale.of(100), 0.5);
  assert.equal(scale.data(0.5), 100);
  close(new Scale(axis(-2, 6)).of(0), 0.25);
});

test("axes hold as long as what is shown lies well on them", () => {
  const held = axes(X, axis(0, 10));
  const shown = (top) => kept(held, axes(X, axis(0, top))).yaxis.range[1];
  assert.deepEqual([10, 8, 4, 2, 11].map(shown), [10, 10, 10, 2, 11], "flat, or beyond them, it gets its own");
  const chosen = axes(X, { ...axis(0, 10), chosen: true });
  assert.equal(kept(chosen, axes(X, axis(0, 99))), chosen, "what a visitor chose holds");
});

test("a hand that goes on gets the longest axis on which this lies well", () => {
  const held = axes(X, axis(0, 10));
  const others = () => [20, 24, 90].map((top) => axes(X, axis(0, top)));
  assert.equal(following(held, axes(X, axis(0, 12)), others).yaxis.range[1], 24);
  assert.equal(following(held, axes(X, axis(0, 9)), others), held);
});

test("axes on their way", () => {
  const [from, to] = [axes(X, axis(0, 10)), axes(X, axis(0, 20))];
  assert.deepEqual(blended(from, to, 0.5).yaxis.range, [0, 15]);
  assert.ok(sameView(blended(from, to, 1), to));
  assert.ok(!sameQuantities(axes(X, axis(0, 1)), { ...axes(X, axis(0, 1)), titles: "b" }));
});

test("figures are unpacked as they were", () => {
  packed.forEach((figure, k) => {
    unpacked(figure, columns).data.forEach((trace, i) => {
      for (const key of ["x", "y"]) {
        const were = figures[k].data[i][key];
        assert.equal(trace[key].length, were.length);
        were.forEach((value, n) => (value === null ? assert.ok(!Number.isFinite(trace[key][n])) : close(trace[key][n], value)));
      }
    });
  });
});

// Where a name stands, in pixels from the plot's top.
function heightOf(note, own, inner) {
  const reach = note.yref === "paper" ? inner * (1 - note.y) : inner * (1 - own.ofRaw(note.y));
  return reach + (note.ay ?? 0) - (note.yshift ?? 0);
}

test("on a figure's own axes the browser places every name where the server did", () => {
  for (const { layout } of figures) {
    const scales = { x: new Scale(layout.xaxis), y: new Scale(layout.yaxis) };
    const inner = layout.height - layout.margin.t - layout.margin.b;
    const server = layout.annotations.filter((note) => note.name === "end");
    const browser = ends(layout.meta.ends, { own: scales, held: scales }, inner);
    assert.equal(browser.length, server.length);
    assert.ok(server.length > 4);
    server.forEach((note, i) => {
      assert.equal(browser[i].text, note.text);
      assert.equal(browser[i].xanchor, note.xanchor);
      assert.ok(Math.abs(heightOf(browser[i], scales.y, inner) - heightOf(note, scales.y, inner)) < 0.2, note.text);
    });
  }
});

test("on other axes names keep apart, within the plot, with an arrow where a line leaves", () => {
  for (const { layout } of figures) {
    const { xaxis, yaxis } = layout;
    const low = { ...yaxis, range: [yaxis.range[0], yaxis.range[0] + 0.3 * (yaxis.range[1] - yaxis.range[0])] };
    const inner = layout.height - layout.margin.t - layout.margin.b;
    const scales = (y) => ({ x: new Scale(xaxis), y: new Scale(y) });
    const there = ends(layout.meta.ends, { own: scales(yaxis), held: scales(low) }, inner);
    assert.ok(there.some((note) => note.text.includes("↑ ")));
    const beside = there.filter((note) => note.xref === "paper").map((note) => heightOf(note, new Scale(low), inner));
    beside.sort((a, b) => a - b).forEach((height, i) => {
      assert.ok(height > 0 && height < inner);
      assert.ok(!i || height - beside[i - 1] > 16.9);
    });
  }
});

test("a hidden curve is not drawn, and its name fades", () => {
  const { data, layout } = placed(figures[0], axesOf(figures[0].layout), new Set(["curve 1"]));
  assert.ok(data.filter((trace) => trace.name === "curve 1").every((trace) => trace.opacity === 0 && !trace.hovertemplate));
  const faded = layout.annotations.filter((note) => note.opacity === 0.4);
  assert.equal(faded.length, 1);
  assert.match(faded[0].text, /curve 1/);
});

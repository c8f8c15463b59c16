// Curves that are still to be computed.

import assert from "node:assert/strict";
import test from "node:test";

import { withEarlier } from "./earlier.js";

const axis = { type: "linear", range: [0, 10], title: { text: "steps" } };
const end = (line, y) => ({ line, text: `<span style='color:red'>${line}</span><b>  ${y}</b>`, x: 10, y, rise: 0, size: 13, room: 0.5, hair: "red" });
const figure = (...lines) => ({
  data: lines.map(([name, y]) => ({ uid: `${name}-1`, name, x: [0, 10], y: [0, y], hovertemplate: "x" })),
  layout: { height: 400, margin: { t: 20, b: 40, l: 40, r: 90 }, xaxis: axis, yaxis: axis, annotations: [{ name: "title", text: "ε" }], meta: { ends: lines.map(([name, y]) => end(name, y)) } },
});

test("a curve that is on its way stays faint where it was, and its name says so", () => {
  const { data, layout } = withEarlier(figure(["DP", 5]), figure(["DP", 4], ["PLD", 3]));
  assert.deepEqual(data.map(({ name, opacity, y }) => [name, opacity, y[1]]), [["PLD", 0.25, 3], ["DP", undefined, 5]]);
  assert.equal(data[0].hovertemplate, undefined, "its value is another's");
  const words = layout.annotations.map(({ text }) => text.replace(/<[^>]*>/g, ""));
  assert.deepEqual(words, ["DP  5", "PLD …", "ε"]);
  assert.deepEqual(layout.meta.ends.map(({ line }) => line), ["DP", "PLD"]);
});

test("a point that a figure lacks is not brought back", () => {
  const last = figure(["DP", 4]);
  last.data.push({ uid: "published-1", name: "published", mode: "markers", x: [1], y: [2] });
  const now = figure(["DP", 5]);
  assert.equal(withEarlier(now, last), now);
});

test("a whole figure, and one of other quantities, is left alone", () => {
  const whole = figure(["DP", 5], ["PLD", 3]);
  assert.equal(withEarlier(whole, figure(["DP", 4], ["PLD", 2])), whole);
  assert.equal(withEarlier(whole, null), whole);
  const other = figure(["DP", 5], ["PLD", 3]);
  other.layout.xaxis = { ...axis, title: { text: "noise" } };
  assert.equal(withEarlier(figure(["DP", 5]), other).data.length, 1);
});

// How a trace becomes a path while a hand moves a control.

import assert from "node:assert/strict";
import test from "node:test";

globalThis.window = { matchMedia: () => ({ matches: true }) };
const { pathOf } = await import("./draw.js");

const same = (value) => value;

test("a line goes straight from point to point, and lifts the pen where there is nothing", () => {
  const trace = { x: [1, 2, 3, 4], y: [8, 4, null, 1], line: {} };
  assert.equal(pathOf(trace, same, same), "M1.00,8.00L2.00,4.00M4.00,1.00");
  assert.equal(pathOf({ ...trace, fill: "toself" }, same, same).at(-1), "Z");
});

test("stairs keep a value until the next place, as Plotly draws them: a bound is nowhere below what it bounds", () => {
  const trace = { x: [1, 2, 3], y: [8, 4, 2], line: { shape: "hv" } };
  assert.equal(pathOf(trace, same, same), "M1.00,8.00H2.00V4.00H3.00V2.00");
  const rising = { x: [1, 2, 3], y: [2, 4, 8], line: { shape: "vh" } };
  assert.equal(pathOf(rising, same, same), "M1.00,2.00V4.00H2.00V8.00H3.00");
});

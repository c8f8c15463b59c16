// Marks on a chart under a mouse and a finger: what their settings are told.

import assert from "node:assert/strict";
import test from "node:test";

import { act, browser, Element } from "./elements.js";
import { Scale } from "./axes.js";
import { Grips } from "./grips.js";

browser();

// A plot of 100 by 50 pixels from (10, 20): x from 0 to 10, y from 1 to 100 on a log axis.
const AREA = { left: 10, top: 20, width: 100, height: 50 };
const SCALES = { x: new Scale({ type: "linear", range: [0, 10] }), y: new Scale({ type: "log", range: [0, 2] }) };
const MARKS = [
  { field: "steps", axis: "x", x: 5, y: null },
  { field: "target", axis: "y", x: null, y: 10 },
  { field: "batch", axis: "x", x: 8, y: 3 },
  { field: "rate", axis: "y", x: 8, y: 3 },
];

function grips(t, marks = MARKS, fields = ["steps", "target", "batch", "rate"]) {
  const plot = Object.assign(new Element("div"), { clientWidth: 116 });
  const [told, held] = [[], []];
  const hand = { place: () => ({ area: AREA, scales: SCALES }), hold: (axis) => held.push(axis) };
  const made = new Grips(plot, (field, what) => {
    told.push([field, what]);
    return String(what.value ?? "");
  });
  const end = new AbortController();
  made.come(end.signal);
  t.after(() => end.abort());
  made.show({ layout: { meta: { grips: marks } } }, hand, fields);
  const pointer = (type, x, y, more = {}) => act(type === "pointerdown" ? plot : window, type, { pointerId: 1, clientX: x, clientY: y, ...more });
  const values = () => told.filter(([, what]) => what.phase === "move").map(([field, { value }]) => [field, Number(value.toPrecision(6))]);
  return { made, plot, told, held, pointer, values };
}

test("a guide follows the mouse along its axis, and its setting is told where it is", (t) => {
  const { told, held, pointer, values } = grips(t);
  const down = pointer("pointerdown", 61, 30); // a pixel beside x = 5
  assert.ok(down.defaultPrevented, "the chart does not zoom");
  pointer("pointermove", 81, 30);
  pointer("pointermove", 101, 60);
  pointer("pointerup", 101, 60);
  assert.deepEqual(values(), [["steps", 7], ["steps", 9]]);
  assert.deepEqual(told.at(-1), ["steps", { phase: "end" }]);
  assert.deepEqual(held, ["xaxis", "xaxis", null], "the axis stays under the hand, and then is free");
});

test("a level goes up and down, on a log axis too", (t) => {
  const { pointer, values, held } = grips(t);
  pointer("pointerdown", 30, 45);
  pointer("pointermove", 90, 20);
  pointer("pointermove", 90, 57.5);
  assert.deepEqual(values(), [["target", 100], ["target", 3.16228]]);
  assert.deepEqual(held, ["yaxis", "yaxis"]);
});

test("beyond the plot the axis may follow, and a hand far away pulls no farther than half a plot", (t) => {
  const { pointer, values, held } = grips(t);
  pointer("pointerdown", 60, 30);
  pointer("pointermove", 130, 30);
  pointer("pointermove", 1e5, 30);
  assert.deepEqual(values(), [["steps", 12], ["steps", 15]]);
  assert.deepEqual(held, [null, null]);
});

test("a mark of two settings follows the hand along one of them, whichever it begins with", (t) => {
  const { plot, told, pointer, values } = grips(t);
  const y = 20 + 50 * (1 - Math.log10(3) / 2);
  pointer("pointerdown", 90, y);
  pointer("pointermove", 91, y + 2);
  assert.deepEqual(values(), [], "it is not decided yet");
  pointer("pointermove", 92, y - 10);
  pointer("pointermove", 40, y - 12.5);
  assert.deepEqual(values().map(([field]) => field), ["rate", "rate"]);
  assert.equal(plot.style.cursor, "move");
  assert.deepEqual(told.filter(([, { phase }]) => phase === "near").map(([field]) => field), ["batch", "rate"]);
});

test("a press elsewhere, and on a mark whose setting cannot move, is the chart's", (t) => {
  const { told, pointer } = grips(t, MARKS, ["target"]);
  assert.ok(!pointer("pointerdown", 60, 30).defaultPrevented, "no such field");
  assert.ok(!pointer("pointerdown", 30, 60).defaultPrevented, "no mark");
  assert.ok(!pointer("pointerdown", 30, 45, { button: 2 }).defaultPrevented);
  assert.deepEqual(told, []);
});

test("a mouse beside a mark asks for what comes, and leaves it again", (t) => {
  const { made, plot, told } = grips(t);
  act(plot, "pointermove", { clientX: 62, clientY: 30 });
  act(plot, "pointermove", { clientX: 61, clientY: 32 });
  assert.deepEqual(told, [["steps", { phase: "near" }]]);
  assert.equal(plot.style.cursor, "ew-resize");
  assert.ok(made.knobs[0].hasAttribute("data-near"));
  act(plot, "pointerleave");
  assert.deepEqual(told.at(-1), ["steps", { phase: "away" }]);
  assert.equal(plot.style.cursor, "");
});

test("a finger takes a knob, and where the page takes the finger the mark goes back", (t) => {
  const { made, plot, pointer, told } = grips(t);
  const knob = made.knobs[0];
  const event = Object.assign(new Event("pointerdown", { cancelable: true }), { pointerId: 1, button: 0, pointerType: "touch", clientX: 70, clientY: 80 });
  Object.defineProperty(event, "target", { value: knob });
  plot.dispatchEvent(event);
  assert.ok(event.defaultPrevented);
  pointer("pointermove", 80, 90);
  pointer("pointercancel", 80, 90);
  assert.deepEqual(told.slice(-2), [["steps", { phase: "move", value: 5, fine: true }], ["steps", { phase: "end" }]]);
});

test("the knob of a pull stands at the setting's own value before its curves do", (t) => {
  const { made, pointer } = grips(t);
  pointer("pointerdown", 60, 30);
  pointer("pointermove", 80, 30);
  assert.equal(made.knobs[0].style.transform, "translate(80px, 70px)");
});

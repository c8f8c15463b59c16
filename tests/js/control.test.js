// A number's control: its slider and its text say the same, and no answer of the server undoes what was entered since.

import assert from "node:assert/strict";
import test from "node:test";

import { act, browser, Element } from "./elements.js";

browser();
globalThis.location = { pathname: "/", search: "" };
window.history = { state: null, replaceState: () => {} };
const { default: mountNumber } = await import("./number.js");

const GIVEN = {
  field: "sigma", label: "σ", help: "noise", shows_label: true, stops: ["1", "2", "4", "8"], whole: false,
  value: 2, text: "2", said: "σ = 2", note: "", wrong: "", ends: ["less", "more"], offers: [], why: "", seen: 0,
};

function control(t, more = {}) {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1000 });
  const parent = new Element("div");
  const [sent, moves] = [[], []];
  const mount = (says = {}) => mountNumber({ parentElement: parent, data: { ...GIVEN, ...more, ...says }, setStateValue: (_, entry) => sent.push(entry) });
  const listen = ({ detail }) => moves.push([detail.phase, detail.text]);
  window.addEventListener("dpviz-move", listen);
  const away = mount();
  t.after(() => {
    away();
    window.removeEventListener("dpviz-move", listen);
  });
  const input = (type) => parent.find((one) => one.kind === "input" && one.type === type);
  return { parent, mount, sent, moves, range: input("range"), text: input("text") };
}

test("the slider, the text and what is read out move together, and the server hears of it once the hand rests", (t) => {
  const { range, text, sent, moves } = control(t);
  assert.deepEqual([range.value, text.value, range.getAttribute("aria-valuetext")], [1, "2", "σ = 2"]);
  for (const [key, value] of [["ArrowRight", "4"], ["ArrowRight", "8"], ["ArrowLeft", "4"]]) {
    act(range, "keydown", { key });
    assert.deepEqual([text.value, range.getAttribute("aria-valuetext")], [value, value]);
  }
  assert.deepEqual(moves, [["move", "4"], ["move", "8"], ["move", "4"]]);
  assert.deepEqual(sent, []);
  t.mock.timers.tick(200);
  assert.deepEqual(sent.map(({ text, exact }) => [text, exact]), [["4", true]]);
  assert.deepEqual(moves.at(-1), ["enter", "4"]);
});

test("an answer that does not know the last entry changes nothing; one that does is shown", (t) => {
  const { mount, range, text, sent } = control(t);
  act(range, "keydown", { key: "ArrowRight" });
  mount({ text: "2", value: 2, said: "σ = 2", seen: 0 }); // the answer to what was before
  assert.deepEqual([text.value, range.value], ["4", 2]);
  t.mock.timers.tick(200);
  mount({ seen: sent[0].n - 1 });
  assert.equal(text.value, "4");
  mount({ text: "4", value: 4, said: "σ = 4", seen: sent[0].n });
  assert.deepEqual([text.value, range.getAttribute("aria-valuetext")], ["4", "σ = 4"]);
});

test("a typed number is entered as it is written, and its slider stands there; what is not entered stays", (t) => {
  const { mount, range, text, sent } = control(t);
  text.value = "2,8284271";
  act(text, "input");
  mount({ text: "2", seen: 0 }); // a run of the page for another reason
  assert.equal(text.value, "2,8284271");
  act(text, "keydown", { key: "Enter" });
  assert.ok(Math.abs(range.value - 1.5) < 1e-6);
  assert.deepEqual(sent.map(({ text, exact }) => [text, exact]), [["2,8284271", false]]);
  act(text, "keydown", { key: "Enter" });
  assert.equal(sent.length, 1, "once");
});

test("Escape takes back what was typed; an arrow key in the text moves on from what is typed", (t) => {
  const { range, text, sent } = control(t);
  text.value = "77";
  act(text, "input");
  act(text, "keydown", { key: "Escape" });
  assert.equal(text.value, "2");
  text.value = "3";
  act(text, "input");
  act(text, "keydown", { key: "ArrowUp" });
  assert.deepEqual([text.value, range.getAttribute("aria-valuetext")], ["4", "4"]);
  act(text, "keydown", { key: "ArrowDown" });
  assert.equal(text.value, "2");
  t.mock.timers.tick(200);
  assert.deepEqual(sent.map(({ text }) => text), ["2"]);
});

test("what is wrong with a text is said below it, and a hand at the slider is told of", (t) => {
  const { mount, parent, text, range, moves } = control(t);
  mount({ wrong: "σ: 0 is outside.", text: "0" });
  const problem = parent.find((one) => one.getAttribute("role") === "alert");
  assert.match(problem.textContent, /σ: 0 is outside\. The last good value is used\./);
  assert.ok(text.hasAttribute("aria-invalid"));
  mount({ wrong: "" });
  assert.ok(!text.hasAttribute("aria-invalid"));
  act(range, "pointerenter");
  act(range, "pointerleave");
  assert.deepEqual(moves, [["near", "2"], ["away", "2"]]);
});

test("what follows from the value moves with a hand, here or at another control, and then as the server says", (t) => {
  const { mount, parent, range } = control(t, { why: "75 × the median" });
  const why = () => parent.find((one) => one.className === "why").textContent;
  const shows = (detail) => window.dispatchEvent(new CustomEvent("dpviz-captions", { detail }));
  act(range, "pointerdown", { clientX: 10 });
  shows({ sigma: "710 × the median" });
  assert.equal(why(), "710 × the median");
  shows({ q: "another control's" });
  assert.equal(why(), "710 × the median");
  shows({ sigma: "" });
  assert.equal(parent.find((one) => one.className === "why"), undefined);
  shows({ sigma: "9 × the median" });
  assert.equal(why(), "9 × the median");
  act(range, "pointerup");
  t.mock.timers.tick(400);
  mount({ why: "8 × the median", seen: Number.MAX_SAFE_INTEGER });
  assert.equal(why(), "8 × the median");
});

test("a small picture moves with a hand as a caption does, where the control has one", (t) => {
  const { mount, parent, range } = control(t, { picture: "<svg>1</svg>" });
  const drawn = () => parent.find((one) => one.className === "drawn").innerHTML;
  const shows = (detail) => window.dispatchEvent(new CustomEvent("dpviz-pictures", { detail }));
  assert.equal(drawn(), "<svg>1</svg>");
  act(range, "pointerdown", { clientX: 10 });
  shows({ sigma: "<svg>2</svg>", q: "another control's" });
  assert.equal(drawn(), "<svg>2</svg>");
  shows({ sigma: "" });
  assert.equal(drawn(), "");
  act(range, "pointerup");
  t.mock.timers.tick(400);
  mount({ picture: "<svg>3</svg>", seen: Number.MAX_SAFE_INTEGER });
  assert.equal(drawn(), "<svg>3</svg>");
  mount({ picture: null, seen: Number.MAX_SAFE_INTEGER });
  shows({ sigma: "<svg>4</svg>" });
  assert.equal(drawn(), "", "a control without a picture gets none");
});

test("a press on the slider, or a key, sends the help away, and it comes back with the next focus", (t) => {
  const { parent, range } = control(t);
  const root = parent.children[0];
  act(range, "pointerdown", { clientX: 10 });
  assert.ok(root.hasAttribute("data-held"));
  root.dispatchEvent(new Event("focusout"));
  assert.ok(!root.hasAttribute("data-held"));
  root.dispatchEvent(Object.assign(new Event("keydown"), { key: "Tab" }));
  assert.ok(!root.hasAttribute("data-busy"));
  root.dispatchEvent(Object.assign(new Event("keydown"), { key: "ArrowRight" }));
  assert.ok(root.hasAttribute("data-busy"));
});

test("a hand that pulls the number elsewhere moves it as its own slider, and is told its text", (t) => {
  const { parent, mount, range, text, sent, moves } = control(t, { field: "noise" });
  const pull = (what, field = "noise") => {
    const event = new CustomEvent("dpviz-pull", { cancelable: true, detail: { field, pull: what } });
    return window.dispatchEvent(event) ? null : event.detail.text;
  };
  assert.equal(pull({ phase: "near" }), "2");
  assert.equal(pull({ phase: "move", value: 3.9 }), "4");
  assert.equal(pull({ phase: "move", value: 1e9 }), "8");
  assert.equal(pull({ phase: "move", by: -1 }), "1", "stops count from where the pull began");
  mount({ text: "2", value: 2, seen: 0 });
  assert.deepEqual([text.value, range.value], ["1", 0], "an earlier answer does not take it out of the hand");
  assert.deepEqual(sent, []);
  t.mock.timers.tick(400); // the hand rests
  assert.deepEqual(sent.map(({ text, exact }) => [text, exact]), [["1", true]]);
  mount({ text: "1.0", value: 1, seen: sent[0].n });
  assert.equal(text.value, "1", "nor does the answer to where it rests");
  pull({ phase: "end" });
  assert.equal(text.value, "1.0");
  pull({ phase: "type", text: "3,5" });
  assert.deepEqual([sent.at(-1).text, sent.at(-1).exact], ["3,5", false]);
  assert.deepEqual(moves.at(-1), ["enter", "3,5"]);
  assert.equal(pull({ phase: "near" }, "delta"), null, "another setting's");
  parent.find((one) => one.className === "dpviz-number").isConnected = false;
  assert.equal(pull({ phase: "near" }), null, "one that nobody sees is told by who made it");
});

// Numbers in a headline: pulled left and right, and typed over.

import assert from "node:assert/strict";
import test from "node:test";

import { act, browser, Element } from "./elements.js";
import { Sentence } from "./sentence.js";

browser();

function sentence(t, text = "2") {
  const told = [];
  const made = new Sentence((field, what) => {
    told.push([field, what]);
    return text;
  });
  const end = new AbortController();
  made.come(end.signal);
  t.after(() => end.abort());
  const number = Object.assign(new Element("span"), { closest: () => number });
  number.dataset.sets = "target";
  const pointer = (type, clientX, { target = number, shiftKey = false } = {}) => {
    const event = Object.assign(new Event(type, { cancelable: true }), { pointerId: 1, button: 0, clientX, shiftKey });
    Object.defineProperty(event, "target", { value: target });
    window.dispatchEvent(event);
    return event;
  };
  const field = () => document.body.children.at(-1);
  return { told, pointer, field };
}

test("a pull moves the setting by stops, and with Shift by parts of them", (t) => {
  const { told, pointer, field } = sentence(t);
  assert.ok(pointer("pointerdown", 100).defaultPrevented);
  pointer("pointermove", 101);
  pointer("pointermove", 121);
  pointer("pointermove", 93);
  pointer("pointermove", 107, { shiftKey: true });
  pointer("pointerup", 107);
  const moves = told.filter(([, { phase }]) => phase === "move").map(([, { by, fine }]) => [by, Boolean(fine)]);
  assert.deepEqual(moves, [[3, false], [-1, false], [0.1, true]]);
  assert.deepEqual(told.at(-1), ["target", { phase: "end" }]);
  assert.equal(field(), undefined, "a pull opens no field");
});

test("a press opens a field with the setting's text, and Enter enters what is typed over it", (t) => {
  const { told, pointer, field } = sentence(t);
  pointer("pointerdown", 100);
  pointer("pointerup", 100);
  const input = field();
  assert.equal(input.value, "2");
  input.value = "3.5";
  act(input, "keydown", { key: "Enter" });
  assert.deepEqual(told.at(-1), ["target", { phase: "type", text: "3.5" }]);
  assert.equal(field(), undefined, "the field is gone");
});

test("Escape, and a text that was not changed, enter nothing", (t) => {
  const { told, pointer, field } = sentence(t);
  for (const [typed, key] of [["9", "Escape"], ["2", "Enter"]]) {
    pointer("pointerdown", 100);
    pointer("pointerup", 100);
    const input = field();
    input.value = typed;
    act(input, "keydown", { key });
    assert.deepEqual(told.at(-1), ["target", { phase: "away" }]);
  }
});

test("words that are no setting are words", (t) => {
  const { told, pointer } = sentence(t);
  const word = Object.assign(new Element("b"), { closest: () => null });
  assert.ok(!pointer("pointerdown", 100, { target: word }).defaultPrevented);
  assert.deepEqual(told, []);
});

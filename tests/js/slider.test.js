// A slider under keys, a mouse and a finger; and what a screen reader hears of it.

import assert from "node:assert/strict";
import test from "node:test";

import { act, browser, Element } from "./elements.js";
import { Slider, Stops } from "./slider.js";

browser();

const TEXTS = ["0.1", "0.2", "0.5", "1", "10", "1000"];

// A slider 116 pixels wide: its thumb is 16, so that 20 pixels are one stop.
function slider(at = 2) {
  const heard = [];
  const say = (name) => (text) => heard.push(text === undefined ? name : `${name} ${text}`);
  const hears = Object.fromEntries(["near", "away", "left", "moved", "released"].map((name) => [name, say(name)]));
  const made = new Slider(new Element("div"), { id: "s", label: "σ", stops: new Stops(TEXTS, false) }, hears);
  made.stand(Number(TEXTS[at]), `said ${TEXTS[at]}`);
  return { made, input: made.input, heard, spoken: () => made.input.getAttribute("aria-valuetext") };
}

test("a screen reader hears the value while keys move it, and then what the server says", () => {
  const { made, input, heard, spoken } = slider();
  assert.equal(spoken(), "said 0.5");
  for (const [key, text] of [["ArrowRight", "1"], ["ArrowUp", "10"], ["ArrowLeft", "1"], ["PageDown", "0.5"], ["End", "1000"], ["Home", "0.1"]]) {
    const event = act(input, "keydown", { key });
    assert.ok(event.defaultPrevented, key);
    assert.equal(heard.at(-1), `moved ${text}`);
    assert.equal(spoken(), text, key);
  }
  made.stand(0.2, "0.2, one in five");
  assert.equal(spoken(), "0.2, one in five");
});

test("with Shift it moves by tenths, and the next stop is the nearest in that direction", () => {
  const { made, input, heard, spoken } = slider(3);
  act(input, "keydown", { key: "ArrowRight", shiftKey: true });
  assert.ok(Math.abs(made.position - 3.1) < 1e-9);
  const text = heard.at(-1).split(" ")[1];
  assert.ok(Number(text) > 1 && Number(text) < 10);
  assert.equal(spoken(), text);
  act(input, "keydown", { key: "ArrowRight" });
  assert.equal(heard.at(-1), "moved 10");
  act(input, "keydown", { key: "ArrowLeft", shiftKey: true });
  act(input, "keydown", { key: "ArrowLeft" });
  assert.equal(heard.at(-1), "moved 1");
});

test("it ends at its ends, and other keys and those with Ctrl, Alt or ⌘ are the page's", () => {
  const { input, heard } = slider(5);
  act(input, "keydown", { key: "ArrowRight" });
  assert.deepEqual(heard, [], "nothing moved");
  for (const more of [{ key: "a" }, { key: "Tab" }, { key: "ArrowLeft", ctrlKey: true }, { key: "Home", altKey: true }, { key: "Home", metaKey: true }]) {
    assert.ok(!act(input, "keydown", more).defaultPrevented, more.key);
  }
  assert.deepEqual(heard, []);
});

test("a mouse sets the thumb where it presses, and pulls it from there to whole stops", () => {
  const { made, input, heard, spoken } = slider(0);
  act(input, "pointerdown", { clientX: 8 + 61, pointerId: 1 });
  assert.deepEqual([made.position, spoken()], [3, "1"]);
  act(input, "pointermove", { clientX: 8 + 84 });
  assert.deepEqual([made.position, spoken()], [4, "10"]);
  act(input, "pointermove", { clientX: 8 + 84, shiftKey: true });
  act(input, "pointermove", { clientX: 8 + 89, shiftKey: true });
  assert.ok(Math.abs(made.position - 4.025) < 1e-9, "a tenth as far with Shift");
  act(input, "pointerup");
  assert.deepEqual([heard[0], heard.at(-1)], ["moved 1", "released"]);
  act(input, "pointermove", { clientX: 0 });
  assert.equal(heard.at(-1), "released", "nothing holds it any more");
  assert.equal(document.activeElement, input);
});

test("a press of another button moves nothing", () => {
  const { input, heard } = slider();
  act(input, "pointerdown", { clientX: 100, button: 2 });
  act(input, "pointermove", { clientX: 10 });
  assert.deepEqual(heard, []);
});

test("a finger pulls the thumb from wherever it is, and where the page scrolls instead it goes back", () => {
  const { made, input, heard } = slider(1);
  const touch = { pointerType: "touch", pointerId: 1 };
  act(input, "pointerdown", { ...touch, clientX: 100 });
  assert.deepEqual(heard, [], "put down, it moves nothing");
  act(input, "pointermove", { ...touch, clientX: 141 });
  assert.equal(made.position, 3);
  act(input, "pointercancel", touch);
  assert.equal(made.position, 1);
  assert.deepEqual(heard, ["moved 1", "moved 0.2", "released"]);
});

test("what another program sets is taken, and what Firefox sets under a finger is not", async () => {
  const { made, input, heard } = slider(1);
  input.value = 4;
  act(input, "input");
  assert.deepEqual([made.position, heard.at(-1)], [4, "moved 10"]);
  act(input, "pointerdown", { pointerType: "touch", clientX: 20 });
  input.value = 0;
  act(input, "input");
  assert.deepEqual([made.position, Number(input.value)], [4, 4]);
  act(input, "pointerup", { pointerType: "touch" });
  await new Promise((resolve) => setTimeout(resolve, 5));
  input.value = 0;
  act(input, "input");
  assert.equal(made.position, 0);
});

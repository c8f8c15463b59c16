// A movement from the hand to the server's answer: when its entry is sent, what is drawn meanwhile, and what fades.

import assert from "node:assert/strict";
import test from "node:test";

import { Entry } from "./entry.js";
import { Movement } from "./movement.js";

const page = new Set(); // attributes of the page
globalThis.document = Object.assign(new EventTarget(), {
  documentElement: {
    toggleAttribute: (name, there) => (there ? page.add(name) : page.delete(name)),
    hasAttribute: (name) => page.has(name),
  },
});
globalThis.requestAnimationFrame = (draw) => setTimeout(draw);
globalThis.cancelAnimationFrame = clearTimeout;

test("an entry is sent once the hand rests, or before what is done next; the last of it alone", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1000 });
  const sent = [];
  const entry = new Entry((one) => sent.push(one));
  for (const text of ["2", "3"]) entry.later(text, false);
  assert.ok(page.has("data-dpviz-pending"));
  assert.ok(entry.ahead(5000), "no answer knows what is still to be sent");
  t.mock.timers.tick(180);
  assert.deepEqual(sent, [{ text: "3", exact: true, n: 1180 }]);
  assert.ok(!page.has("data-dpviz-pending"));
  assert.deepEqual([1179, 1180].map((seen) => entry.ahead(seen)), [true, false]);
  entry.later("4", true);
  document.dispatchEvent(new Event("pointerdown"));
  entry.now("5", { exact: false });
  t.mock.timers.tick(5000);
  assert.deepEqual(sent.slice(1).map(({ text, exact, n }) => [text, exact, n]), [["4", true, 1181], ["5", false, 1182]]);
});

for (const state of ["unanswered", "coming"]) test(`a held value is not sent while its frame is ${state}`, (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1000 });
  const sent = [];
  const entry = new Entry(({ text }) => sent.push(text));
  page.add(`data-dpviz-${state}`);
  entry.later("2", true);
  t.mock.timers.tick(5000);
  assert.deepEqual(sent, []);
  entry.flush(); // the hand lets go
  assert.deepEqual(sent, ["2"]);
  entry.later("3", true);
  page.delete(`data-dpviz-${state}`); // the hand came to a value that has one
  t.mock.timers.tick(360);
  assert.deepEqual(sent, ["2", "3"]);
});

test("a frame is shown once a painting; what is not there fades until the answer to the entry", async () => {
  const asked = [];
  const ask = (kind) => (what) => asked.push([kind, what?.field ?? what]);
  const frame = { figure: {} };
  const there = { 2: frame, 3: frame, 5: { why: "a sample has to be measured first" }, 6: null };
  let coming = false;
  const asks = { near: ask("near"), rest: ask("rest"), away: ask("away") };
  const frames = { ...asks, at: (field, text) => there[text], coming: () => coming };
  const shown = [];
  const why = { textContent: "" };
  let stands = true; // or a promise of it
  const movement = new Movement(why, frames, (one, field) => {
    shown.push([one, field]);
    return stands;
  });
  const step = (phase, text, n = 7) => movement.step({ field: "sigma", phase, text, n });
  const painted = () => new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual([step("near", "1"), step("away", "1"), movement.ahead(0)], [false, false, false]);
  for (const text of ["2", "3"]) assert.ok(step("move", text));
  await painted();
  assert.deepEqual(shown, [[frame, "sigma"]]);
  assert.ok(!page.has("data-dpviz-behind"));
  for (const [text, words] of [["4", ""], ["5", there[5].why], ["6", "There is no result for this value."]]) {
    step("move", text);
    await painted();
    assert.ok(page.has("data-dpviz-behind"));
    assert.equal(why.textContent, words);
    assert.equal(page.has("data-dpviz-unanswered"), text === "6");
  }
  for (coming of [true, false]) {
    step("move", "4");
    await painted();
    assert.equal(page.has("data-dpviz-coming"), coming, "what is asked for and not there is on its way");
  }
  for (const drawn of [false, true]) {
    let ends;
    stands = new Promise((resolve) => (ends = resolve));
    step("move", drawn ? "2" : "3");
    await painted();
    assert.ok(page.has("data-dpviz-behind"), "Plotly is still drawing");
    ends(drawn);
    await painted();
    assert.equal(page.has("data-dpviz-behind"), !drawn);
  }
  stands = true;
  assert.ok(movement.ahead(100), "its entry is still to come");
  step("enter", "2");
  await painted();
  assert.ok(!page.has("data-dpviz-behind"));
  assert.deepEqual([movement.ahead(6), movement.ahead(7), movement.last], [true, false, null]);
  assert.deepEqual(asked.map(([kind]) => kind), ["near", "away", ...Array(9).fill("near"), "rest"]);
});

test("a chart that shows something else waits for nothing, and follows the next movement", async () => {
  const why = { textContent: "" };
  const frames = { near: () => {}, rest: () => {}, away: () => {}, at: () => undefined, coming: () => true };
  const movement = new Movement(why, frames, () => true);
  movement.step({ field: "sigma", text: "2", phase: "move" });
  movement.now();
  assert.ok(page.has("data-dpviz-coming"));
  movement.over();
  assert.ok(!movement.ahead(0));
  assert.ok(!page.has("data-dpviz-coming"));
  assert.ok(!page.has("data-dpviz-behind"));
  movement.step({ field: "sigma", text: "3", phase: "move" });
  await new Promise((done) => setTimeout(done, 5));
  assert.ok(page.has("data-dpviz-behind"), "it looked for the frame");
});

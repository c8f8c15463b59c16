// The strip of the run: a number that a hand moves is in it as soon as in the headline, and nothing in it is stale.

import assert from "node:assert/strict";
import test from "node:test";

import { act, browser, Element } from "./elements.js";

browser();
let observed; // calls who watches the page's attributes
globalThis.MutationObserver = class {
  constructor(call) {
    observed = call;
  }
  observe() {}
  disconnect() {}
};
const { default: mountStrip } = await import("./strip.js");

const phrase = (text, field = "", more = {}) => ({ text, field, before: "", after: "", silent: "", others: [], ...more });
const RUN = {
  unused: "not used here: rows",
  change: "",
  phrases: [
    phrase("σ 4", "sigma", { before: "σ " }),
    phrase("600 of 60 000", "batch", { after: " of 60 000", others: ["q"] }),
    phrase("", "persons", { after: " rows a person", silent: "1" }),
    phrase("Poisson"),
  ],
};
const NEXT = [{ key: "claim", name: "Claim", asks: "What may I claim?", here: false }, { key: "attack", name: "Attack", asks: "?", here: true }];

function strip(t, more = {}) {
  const parent = new Element("div");
  const told = [];
  const mount = (says = {}) => mountStrip({
    parentElement: parent,
    data: { run: RUN, next: NEXT, open: false, seen: 0, ...more, ...says },
    setStateValue: (...state) => told.push(state),
    setTriggerValue: (...state) => told.push(state),
  });
  t.after(mount());
  const buttons = () => [...parent.all()].filter(({ kind }) => kind === "button");
  const words = () => buttons()[0].children.filter(({ kind }) => kind === "span").map(({ textContent }) => textContent).slice(1);
  return { parent, mount, told, buttons, words };
}

const moves = async (field, text, phase = "move", n = 0) => {
  window.dispatchEvent(Object.assign(new Event("dpviz-move"), { detail: { field, text, phase, n } }));
  for (let painting = 0; painting < 2; painting += 1) await new Promise(requestAnimationFrame);
};
const behind = (there) => {
  document.documentElement.toggleAttribute("data-dpviz-behind", there);
  observed();
};
const told = (run, seen) => window.dispatchEvent(Object.assign(new Event("dpviz-run"), { detail: { run, seen } }));

test("a number that moves is in the line, and what it changes beside says nothing until the server has answered", async (t) => {
  const { words, mount } = strip(t);
  assert.deepEqual(words(), ["σ 4", "600 of 60 000", "Poisson"]);
  await moves("sigma", "5.5");
  assert.deepEqual(words(), ["σ 5.5", "600 of 60 000", "Poisson"]);
  await moves("q", "0.02");
  assert.deepEqual(words(), ["σ 5.5", "…", "Poisson"]);
  await moves("persons", "3");
  assert.equal(words()[2], "3 rows a person");
  await moves("persons", "1");
  assert.equal(words().length, 3);
  mount(); // an answer that knows nothing of it
  assert.deepEqual(words(), ["σ 5.5", "…", "Poisson"]);
  await moves("q", "0.02", "enter", 7);
  told(RUN, 6);
  assert.equal(words()[1], "…");
  const after = { ...RUN, phrases: RUN.phrases.with(1, phrase("1200 of 60 000", "batch")) };
  told(after, 7);
  assert.deepEqual(words(), ["σ 4", "1200 of 60 000", "Poisson"]);
});

test("while the headline is behind the hand, the line keeps what stands beside it, and both follow together", async (t) => {
  const { words } = strip(t);
  behind(true);
  await moves("sigma", "5.5");
  await moves("q", "0.02");
  assert.deepEqual(words(), ["σ 4", "600 of 60 000", "Poisson"]);
  behind(false);
  assert.deepEqual(words(), ["σ 5.5", "…", "Poisson"]);
  behind(true);
  await moves("sigma", "6", "enter", 7);
  told({ ...RUN, phrases: RUN.phrases.with(0, phrase("σ 6", "sigma")) }, 7);
  assert.equal(words()[0], "σ 6", "the server has answered");
  behind(false);
  assert.deepEqual(words(), ["σ 6", "600 of 60 000", "Poisson"]);
});

test("what another mechanism did stands below the line, as the last answer says it", async (t) => {
  const { parent } = strip(t, { run: { ...RUN, change: "Kept: σ 4." } });
  const [below] = [...parent.all()].filter(({ kind }) => kind === "p");
  assert.deepEqual([below.textContent, below.role], ["Kept: σ 4.", "status"]);
  await moves("sigma", "5.5", "enter", 7);
  told(RUN, 7);
  assert.equal(below.textContent, "");
});

test("a hand that only comes near, and numbers that are none of the run's, change nothing", async (t) => {
  const { words } = strip(t);
  for (const [field, phase] of [["sigma", "near"], ["sigma", "away"], ["eta", "move"], ["eta", "enter"]]) await moves(field, "9", phase, 9);
  told(RUN, 0);
  assert.deepEqual(words(), ["σ 4", "600 of 60 000", "Poisson"]);
});

test("it opens and closes, and leads on after what was moved is told", (t) => {
  const { buttons, told: sent } = strip(t);
  let flushed = 0;
  document.addEventListener("dpviz-flush", () => (flushed += 1));
  const [line, claim, attack] = buttons();
  act(line, "click");
  assert.deepEqual([line.getAttribute("aria-expanded"), sent.at(-1)], ["true", ["open", true]]);
  window.dispatchEvent(Object.assign(new Event("keydown"), { key: "Escape" }));
  assert.deepEqual([line.getAttribute("aria-expanded"), sent.at(-1)], ["false", ["open", false]]);
  act(claim, "click");
  assert.deepEqual(sent.at(-1), ["go", "claim"]);
  assert.equal(attack.getAttribute("aria-current"), "page");
  assert.equal(flushed, 3);
});

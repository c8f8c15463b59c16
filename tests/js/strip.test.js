// The strip of the run: a number that a hand moves is in it at once, and nothing in it is stale.

import assert from "node:assert/strict";
import test from "node:test";

import { act, browser, Element } from "./elements.js";

browser();
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

const moves = (field, text, phase = "move", n = 0) =>
  window.dispatchEvent(Object.assign(new Event("dpviz-move"), { detail: { field, text, phase, n } }));
const told = (run, seen) => window.dispatchEvent(Object.assign(new Event("dpviz-run"), { detail: { run, seen } }));

test("a number that moves is in the line, and what it changes beside says nothing until the server has answered", (t) => {
  const { words, mount } = strip(t);
  assert.deepEqual(words(), ["σ 4", "600 of 60 000", "Poisson"]);
  moves("sigma", "5.5");
  assert.deepEqual(words(), ["σ 5.5", "600 of 60 000", "Poisson"]);
  moves("q", "0.02");
  assert.deepEqual(words(), ["σ 5.5", "…", "Poisson"]);
  moves("persons", "3");
  assert.equal(words()[2], "3 rows a person");
  moves("persons", "1");
  assert.equal(words().length, 3);
  mount(); // an answer that knows nothing of it
  assert.deepEqual(words(), ["σ 5.5", "…", "Poisson"]);
  moves("q", "0.02", "enter", 7);
  told(RUN, 6);
  assert.equal(words()[1], "…");
  const after = { ...RUN, phrases: RUN.phrases.with(1, phrase("1200 of 60 000", "batch")) };
  told(after, 7);
  assert.deepEqual(words(), ["σ 4", "1200 of 60 000", "Poisson"]);
});

test("what another mechanism did stands below the line, as the last answer says it", (t) => {
  const { parent } = strip(t, { run: { ...RUN, change: "Kept: σ 4." } });
  const [below] = [...parent.all()].filter(({ kind }) => kind === "p");
  assert.deepEqual([below.textContent, below.role], ["Kept: σ 4.", "status"]);
  moves("sigma", "5.5", "enter", 7);
  told(RUN, 7);
  assert.equal(below.textContent, "");
});

test("a hand that only comes near, and numbers that are none of the run's, change nothing", (t) => {
  const { words } = strip(t);
  for (const [field, phase] of [["sigma", "near"], ["sigma", "away"], ["eta", "move"], ["eta", "enter"]]) moves(field, "9", phase, 9);
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

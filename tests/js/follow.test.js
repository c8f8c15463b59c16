// A page that goes on changing: what is new is put in place, what is known is not sent again, another page runs again.

import assert from "node:assert/strict";
import test from "node:test";

import { browser, Element } from "./elements.js";

browser();
globalThis.CustomEvent = class extends Event {
  constructor(name, { detail }) {
    super(name);
    this.detail = detail;
  }
};
globalThis.location = { origin: "" };
document.hidden = false;
const [headline, below] = [new Element("p"), new Element("div")];
document.querySelector = (selector) => (selector === ".dpviz-headline" ? headline : below);
const { Follower } = await import("./follow.js");

const DATA = { at: "/at", token: "token", page: "running", every: 5 };
const shown = (step, page = "running") => ({ page, headline: `Step ${step}`, below: `ε ${step}`, charts: [{ key: "k", packed: `${step}` }] });
const soon = (ms = 5) => new Promise((resolve) => setTimeout(resolve, ms));

// A server whose update is `now`; `asked` are the marks that it was asked with, null `now` that it does not answer.
function server(t, now) {
  const own = { now, asked: [] };
  t.mock.method(globalThis, "fetch", async (address, { headers, signal }) => {
    own.asked.push(`${address} ${headers["If-None-Match"]}`);
    if (!own.now) throw new Error("gone");
    if (own.now === 205) return { status: 205 };
    await soon(own.takes ?? 0);
    if (signal.aborted) throw new Error("aborted");
    const mark = own.now.headline;
    if (headers["If-None-Match"] === mark) return { status: 304 };
    return { status: 200, headers: new Headers({ ETag: mark }), json: async () => own.now };
  });
  return own;
}

function follower(t) {
  const [again, charts, one] = [[], [], new Follower(new Element("div"))];
  const hear = ({ detail }) => charts.push(detail.packed);
  window.addEventListener("dpviz-follow", hear);
  const adopt = (more = {}) => one.adopt({ data: { ...DATA, ...more }, setTriggerValue: (name) => again.push(name) });
  t.after(() => {
    window.removeEventListener("dpviz-follow", hear);
    one.gone();
  });
  adopt();
  return { again, charts, adopt, one };
}

// Waits until this holds, on however busy a machine.
async function until(holds) {
  for (const end = Date.now() + 20_000; !holds() && Date.now() < end; ) await soon();
  assert.ok(holds(), holds.toString());
}

test("what is new is put in its place once", async (t) => {
  const own = server(t, shown(1));
  const { again, charts } = follower(t);
  await until(() => own.asked.length > 3);
  own.now = shown(2);
  await until(() => charts.length > 1);
  const asked = own.asked.length;
  await until(() => own.asked.length > asked + 2);
  assert.deepEqual([headline.innerHTML, below.innerHTML, charts, again], ["Step 2", "ε 2", ["1", "2"], []]);
  assert.deepEqual(own.asked.slice(0, 2), ["/at/updates/token ", "/at/updates/token Step 1"]);
});

test("where the page would be another it runs again, once, and shows nothing of it before", async (t) => {
  const own = server(t, shown(3, "paused"));
  const { again, charts, adopt } = follower(t);
  await until(() => again.length);
  await soon(60);
  assert.deepEqual([again, charts], [["again"], []]);
  adopt({ page: "paused" });
  await until(() => charts.length);
  assert.deepEqual([again, charts], [["again"], ["3"]]);
  own.now = 205; // of a session that is gone
  await until(() => again.length > 1);
  assert.deepEqual(again, ["again", "again"]);
});

test("what was asked for before the page ran again is not shown", async (t) => {
  const own = server(t, shown(4));
  own.takes = 50;
  const { charts, adopt } = follower(t);
  await until(() => own.asked.length);
  own.now = shown(5);
  adopt();
  await until(() => charts.length);
  await soon(100);
  assert.deepEqual(charts, ["5"]);
});

test("what is over is looked at once, and stands in the place of what came late", async (t) => {
  const own = server(t, shown(7));
  const { adopt, charts } = follower(t);
  await until(() => charts.length);
  [own.now, headline.innerHTML] = [shown(8, "stopped"), "Step 7"];
  adopt({ page: "stopped", every: 0 });
  await until(() => charts.length > 1);
  const asked = own.asked.length;
  await soon(60);
  assert.deepEqual([headline.innerHTML, own.asked.length], ["Step 8", asked]);
});

test("nobody asks for a hidden page or one that is gone, and a server that is away is asked again", async (t) => {
  const own = server(t, null);
  const { charts, one } = follower(t);
  await until(() => own.asked.length);
  own.now = shown(6);
  await until(() => charts.length);
  assert.deepEqual(charts, ["6"]);
  document.hidden = true;
  await soon(60);
  const asked = own.asked.length;
  await soon(60);
  document.hidden = false;
  assert.equal(own.asked.length, asked);
  await until(() => own.asked.length > asked);
  one.gone();
  const last = own.asked.length;
  await soon(60);
  assert.equal(own.asked.length, last);
});

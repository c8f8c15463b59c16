// In which order frames are asked for, and what is kept of them.

import assert from "node:assert/strict";
import test from "node:test";

import { Frames } from "./frames.js";

const STOPS = Array.from({ length: 41 }, (_, k) => String(k));
const FIGURE = { data: [], layout: { xaxis: { range: [0, 1] }, yaxis: { range: [0, 1] }, margin: {} } };
const move = (more) => ({ field: "sigma", at: 20, stops: STOPS, between: [], phase: "near", ...more });

// A server that answers at once; `status` by call.
function server(t, status = () => 200) {
  const asked = [];
  globalThis.location = { origin: "" };
  t.mock.method(globalThis, "fetch", async (address) => {
    const query = new URL(address, "http://x").searchParams;
    const texts = query.get("at").split(",");
    asked.push({ address: address.split("?")[0], texts });
    const code = status(asked.length);
    const frames = Object.fromEntries(texts.map((text) => [text, text === "13" ? null : { figure: FIGURE, headline: text }]));
    return { status: code, headers: new Headers(), json: async () => ({ frames, columns: {} }) };
  });
  return asked;
}

const settled = async (frames) => {
  do await new Promise((resolve) => setTimeout(resolve)); while (frames.under.size);
};

test("frames around the hand come first, then a net over all, ever finer; each once", async (t) => {
  const asked = server(t);
  const frames = new Frames(() => {});
  frames.offer("/at", { sigma: "token" });
  frames.near(move({ between: ["20.5"] }));
  await settled(frames);
  assert.equal(asked[0].address, "/at/frames/token");
  const order = asked.flatMap(({ texts }) => texts);
  assert.equal(order[0], "20.5", "what a fine movement shows comes first");
  assert.deepEqual([...order.slice(1)].sort(), [...STOPS].sort());
  assert.deepEqual(order.slice(1, 3), ["19", "21"], "what stands there is drawn already");
  assert.ok(order.slice(1, 18).every((text) => Math.abs(Number(text) - 20) <= 8));
  const net = order.slice(18).map(Number);
  assert.ok(net.slice(0, 6).every((stop) => stop % 4 === 0));
  assert.equal(frames.at("sigma", "13"), null, "what is no value has no frame, and is not asked for again");
  assert.equal(frames.at("sigma", "7").headline, "7");
});

test("a moving hand asks for its neighbours, one that let go for nothing until the page is there", async (t) => {
  const asked = server(t);
  const frames = new Frames(() => {});
  frames.offer("", { sigma: "token" });
  frames.near(move({ phase: "move" }));
  assert.deepEqual(asked[0].texts.slice(0, 5), ["20", "19", "21", "18", "22"]);
  frames.rest();
  await settled(frames);
  const before = asked.length;
  assert.equal(before, 1, "what was on its way");
  frames.go();
  await settled(frames);
  assert.ok(asked.length > before);
});

test("one request is on its way, answered with what is there; the next says where the hand is then", async (t) => {
  const waiting = [];
  let now = 1000;
  t.mock.method(performance, "now", () => now);
  globalThis.location = { origin: "" };
  t.mock.method(globalThis, "fetch", (address) => {
    const texts = new URL(address, "http://x").searchParams.get("at").split(",");
    return new Promise((resolve) => waiting.push({ texts, resolve }));
  });
  const answer = async ({ resolve }, ...texts) => {
    const frames = Object.fromEntries(texts.map((text) => [text, { figure: FIGURE }]));
    resolve({ status: 200, json: async () => ({ frames, columns: {} }) });
    await new Promise((resolve) => setTimeout(resolve));
  };
  const frames = new Frames(() => {});
  frames.offer("", { sigma: "token", q: "other" });
  for (const at of [20, 21, 22]) {
    frames.near(move({ phase: "move", at }));
    now += 20;
  }
  assert.equal(waiting.length, 1);
  assert.equal(waiting[0].texts.length, 8);
  await answer(waiting[0], "20"); // 60 ms after it was asked for
  assert.equal(waiting.length, 2);
  assert.ok(Number(waiting[1].texts[0]) > 22, "where the hand is when it comes");
  assert.ok(!waiting[1].texts.includes("20") && waiting[1].texts.includes("21"), "what has not come is asked for again");
  await answer(waiting[1], ...waiting[1].texts);
  assert.equal(waiting.length, 2, "and nothing far away while it moves");
  frames.rest();
  frames.go();
  assert.ok(waiting[2].texts.includes("16"), "all of them once it rests");
  frames.near({ ...move(), field: "q" });
  assert.equal(waiting.length, 4, "another control's is not waited for");
});

test("what the server does not know any more is not asked for again before its next answer", async (t) => {
  const asked = server(t, () => 205);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const frames = new Frames(() => {});
  frames.offer("", { sigma: "old" });
  frames.near(move());
  for (let k = 0; k < 20; k++) await Promise.resolve();
  t.mock.timers.tick(5000);
  for (let k = 0; k < 20; k++) await Promise.resolve();
  assert.equal(asked.length, 1);
  frames.offer("", { sigma: "new" });
  frames.go();
  assert.equal(asked.length, 2);
});

test("frames are kept as long as their token is offered", async (t) => {
  server(t);
  const frames = new Frames(() => {});
  frames.offer("", { sigma: "one" });
  frames.near(move());
  await settled(frames);
  frames.offer("", { sigma: "one", q: "two" });
  assert.ok(frames.at("sigma", "20"));
  assert.ok(frames.has("q") && !frames.has("delta"));
  frames.offer("", { sigma: "three" });
  assert.equal(frames.at("sigma", "20"), undefined);
});

test("a page without a server has all its frames, and asks for none", (t) => {
  const asked = server(t);
  const frames = new Frames(() => {}, { sigma: { 2: { figure: FIGURE } } });
  frames.offer(null, { sigma: "sigma" });
  frames.near(move());
  frames.go();
  assert.deepEqual(asked, []);
  assert.ok(frames.has("sigma"));
  assert.ok(frames.at("sigma", "2"));
  assert.equal(frames.axes("sigma", (figure) => figure).length, 1);
  assert.equal(frames.at("sigma", "3"), undefined);
});

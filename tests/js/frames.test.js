// In which order frames are asked for, of whom, and what is kept of them.

import assert from "node:assert/strict";
import test from "node:test";

import { Frames, fromServer, fromTable } from "./frames.js";

const STOPS = Array.from({ length: 41 }, (_, k) => String(k));
const FIGURE = { data: [], layout: { xaxis: { range: [0, 1] }, yaxis: { range: [0, 1] }, margin: {} } };
const move = (more) => ({ field: "sigma", at: 20, stops: STOPS, between: [], phase: "near", ...more });
const frameOf = (text) => (text === "13" ? null : { figure: FIGURE, headline: text });
const turn = () => new Promise((resolve) => setTimeout(resolve));

// Who is asked, and what was asked for: each request says `tell(texts)` and `end()`.
function asking() {
  const asked = [];
  const ask = async function* (request, signal) {
    const waiting = [];
    let wake = () => {};
    const tell = (...texts) => (waiting.push(texts), wake(), turn());
    const end = () => (waiting.push(null), wake(), turn());
    asked.push({ ...request, signal, tell, end });
    for (;;) {
      while (!waiting.length) await new Promise((resolve) => (wake = resolve));
      const texts = waiting.shift();
      if (!texts) return;
      yield Object.fromEntries(texts.map((text) => [text, frameOf(text)]));
    }
  };
  return [ask, asked];
}

test("frames around the hand come first, in one request for all; each once", async () => {
  const [ask, asked] = asking();
  const frames = new Frames(() => {});
  frames.offer(ask, { sigma: "token" });
  frames.near(move({ between: ["20.5"] }));
  const [{ token, field, texts, tell, end }] = asked;
  assert.deepEqual([token, field, texts[0]], ["token", "sigma", "20.5"], "what a fine movement shows comes first");
  assert.deepEqual(texts.slice(1, 6), ["19", "21", "18", "22", "20"], "what stands there is drawn already");
  assert.deepEqual([...texts.slice(1)].sort(), [...STOPS].sort());
  await tell(...texts.slice(0, 3));
  frames.near(move());
  assert.equal(asked.length, 1, "the others are on their way");
  await tell(...texts.slice(3));
  await end();
  frames.near(move());
  assert.equal(asked.length, 1, "all are there");
  assert.equal(frames.at("sigma", "13"), null, "what is no value has no frame, and is not asked for again");
  assert.equal(frames.at("sigma", "7").headline, "7");
});

test("a frame is on its way from the request for it until it is there, or no more come", async () => {
  const [ask, asked] = asking();
  let told = 0;
  const frames = new Frames(() => told++);
  frames.offer(ask, { sigma: "token", q: "other" });
  assert.ok(!frames.coming("sigma", "20"));
  frames.near(move());
  const coming = () => [["sigma", "20"], ["sigma", "13"], ["sigma", "x"], ["q", "20"]].map((one) => frames.coming(...one));
  assert.deepEqual(coming(), [true, true, false, false]);
  await asked[0].tell("20", "13");
  assert.deepEqual(coming(), [false, false, false, false]);
  assert.ok(frames.coming("sigma", "7"));
  const before = told;
  frames.offer(ask, {}); // the page moved on
  await asked[0].end();
  assert.ok(!frames.coming("sigma", "7"));
  assert.equal(told, before + 1, "who waits for one is told that no more come");
});

test("a hand that moved on asks again: for what it lacks, sooner before it than behind it", async () => {
  const [ask, asked] = asking();
  const frames = new Frames(() => {});
  frames.offer(ask, { sigma: "token" });
  frames.near(move());
  for (const at of [21, 22, 23, 24, 25]) frames.near(move({ phase: "move", at }));
  assert.equal(asked.length, 1, "not before the first ones are there");
  await asked[0].tell("20", "26");
  frames.near(move({ phase: "move", at: 26 }));
  assert.deepEqual(asked[1].texts.slice(0, 5), ["27", "28", "29", "30", "31"]);
  assert.ok(!asked[1].texts.includes("20"));
  await asked[0].tell("27");
  assert.ok(frames.at("sigma", "27"), "what an earlier request still brings is kept");
  await asked[1].tell("28");
  frames.near(move({ phase: "move", at: 27 }));
  assert.equal(asked.length, 2, "what is on its way comes as soon");
  frames.near(move({ phase: "move", at: 26 }));
  assert.equal(asked.length, 3, "the hand turns back");
  assert.equal(asked[2].texts[0], "25");
});

test("a hand that let go asks for nothing until the page is there, one that left for nothing", async () => {
  const [ask, asked] = asking();
  const frames = new Frames(() => {});
  frames.offer(ask, { sigma: "token" });
  frames.near(move({ phase: "move" }));
  frames.rest();
  assert.ok(asked[0].signal.aborted);
  await asked[0].tell("20");
  assert.equal(asked.length, 1);
  frames.go();
  assert.equal(asked.length, 2);
  frames.away("q");
  assert.ok(!asked[1].signal.aborted);
  frames.away("sigma");
  assert.ok(asked[1].signal.aborted);
  frames.go();
  assert.equal(asked.length, 2);
  frames.near(move({ field: "q" }));
  assert.equal(asked.length, 2, "which has no frames");
});

test("a request without an answer is made again, later; so is one that failed", async (t) => {
  const [ask, asked] = asking();
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const frames = new Frames(() => {});
  frames.offer(ask, { sigma: "token" });
  frames.near(move());
  now = 31_000;
  frames.near(move());
  assert.equal(asked.length, 2);
  asked[1].end();
  for (let k = 0; k < 20; k++) await Promise.resolve();
  frames.near(move());
  assert.equal(asked.length, 2);
  t.mock.timers.tick(1000);
  assert.equal(asked.length, 3);
});

// A server that answers with these lines in these pieces.
function server(t, status, ...pieces) {
  const asked = [];
  globalThis.location = { origin: "" };
  t.mock.method(globalThis, "fetch", async (address) => {
    asked.push(address);
    return { status, body: new Blob(pieces).stream() };
  });
  return asked;
}

test("the server sends lines, which may come in parts, and each column once", async (t) => {
  const withColumn = { data: [{ x: { column: "u1 a" } }], layout: {} };
  const first = JSON.stringify({ frames: { 2: { figure: withColumn }, 13: null }, columns: { "u1 a": btoa("\x01\x02") } });
  const second = JSON.stringify({ frames: { 3: { figure: withColumn }, 4: { why: "μ" } }, columns: {} });
  const bytes = new TextEncoder().encode(`${first}\n${second}\n`);
  const asked = server(t, 200, bytes.slice(0, 7), bytes.slice(7, bytes.length - 6), bytes.slice(bytes.length - 6));
  const told = [];
  for await (const frames of fromServer("/at")({ token: "token", field: "sigma", texts: ["2", "3"] })) told.push(frames);
  assert.deepEqual(asked, ["/at/frames/token?field=sigma&at=2%2C3"]);
  const [one, other] = told;
  assert.deepEqual([...one[2].figure.data[0].x], [1, 2]);
  assert.deepEqual([...other[3].figure.data[0].x], [1, 2]);
  assert.deepEqual([one[13], other[4]], [null, { why: "μ" }]);
});

test("what the server does not know any more is not asked for again before its next answer", async (t) => {
  const asked = server(t, 205);
  const frames = new Frames(() => {});
  frames.offer(fromServer(""), { sigma: "old" });
  frames.near(move());
  await turn();
  frames.near(move());
  assert.equal(asked.length, 1);
  assert.equal(frames.waits, undefined, "nor later");
  frames.offer(fromServer(""), { sigma: "new" });
  frames.go();
  assert.equal(asked.length, 2);
  frames.stop();
});

test("frames are kept as long as their token is offered", async () => {
  const [ask, asked] = asking();
  const frames = new Frames(() => {});
  frames.offer(ask, { sigma: "one" });
  frames.near(move());
  await asked[0].tell("20");
  frames.offer(ask, { sigma: "one", q: "two" });
  assert.ok(frames.at("sigma", "20"));
  assert.ok(frames.has("q") && !frames.has("delta"));
  frames.offer(ask, { sigma: "three" });
  assert.equal(frames.at("sigma", "20"), undefined);
});

test("a frame of settings before is kept for those alone, whenever it comes", async () => {
  const [ask, asked] = asking();
  const frames = new Frames(() => {});
  frames.offer(ask, { sigma: "before" });
  frames.near(move());
  frames.offer(ask, { sigma: "now" }); // another setting was entered meanwhile
  await asked[0].tell("20");
  assert.equal(frames.at("sigma", "20"), undefined, "it shows other settings");
  frames.go();
  assert.equal(asked[1].token, "now");
  await asked[1].tell("20");
  assert.ok(frames.at("sigma", "20"));
});

test("a page without a server has all its frames in a table", async () => {
  const frames = new Frames(() => {});
  frames.offer(fromTable({ sigma: { 2: { figure: FIGURE } } }, (frame) => frame), { sigma: "sigma" });
  frames.near(move());
  await turn();
  assert.ok(frames.has("sigma"));
  assert.ok(frames.at("sigma", "2"));
  assert.equal(frames.axes("sigma", (figure) => figure).length, 1);
  assert.equal(frames.at("sigma", "3"), null);
});

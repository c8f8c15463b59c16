// Slow parts of an answer: fetched part after part, and none of an answer before is drawn.

import assert from "node:assert/strict";
import test from "node:test";

import { SlowParts } from "./slow_parts.js";

const FIGURE = { data: [], layout: {} };
globalThis.location = { origin: "" };

// A server that answers when it is told to; `asked` are the addresses, `answer(k, reply)` answers the k-th.
function server(t) {
  const asked = [];
  const replies = [];
  t.mock.method(globalThis, "fetch", (address, { signal }) => {
    asked.push(address);
    return new Promise((resolve, reject) => {
      replies.push(resolve);
      signal.addEventListener("abort", () => reject(new Error("aborted")));
    });
  });
  const answer = async (k, reply) => {
    replies[k](typeof reply === "number" ? { status: reply } : { status: 200, json: async () => reply });
    await painted();
  };
  return { asked, answer };
}

const painted = () => new Promise((resolve) => setTimeout(resolve, 5));
const part = (headline, more = false) => ({ figure: FIGURE, columns: {}, headline, more });

function listener() {
  const [drawn, waits] = [[], []];
  const slow = new SlowParts((one) => drawn.push(one.headline), (more) => waits.push(more));
  return { slow, drawn, waits };
}

test("one part comes after the other, until there is no more", async (t) => {
  const { asked, answer } = server(t);
  const { slow, drawn, waits } = listener();
  slow.ask("/at", "token");
  slow.ask("/at", "token"); // the same answer again
  await painted();
  assert.deepEqual(asked, ["/at/slow/token"]);
  assert.deepEqual(waits.at(-1), true);
  await answer(0, 204); // not there yet
  await answer(1, part("first", true));
  await answer(2, part("second"));
  assert.deepEqual([drawn, asked.length, waits.at(-1)], [["first", "second"], 3, false]);
});

test("what comes after another answer, and before that is drawn, is left out", async (t) => {
  const { answer } = server(t);
  const { slow, drawn, waits } = listener();
  slow.ask("", "earlier");
  slow.only("earlier"); // the same answer told again
  assert.equal(waits.at(-1), true);
  slow.only("later");
  await answer(0, part("earlier"));
  assert.deepEqual([drawn, waits.at(-1)], [[], false]);
});

test("a part of an earlier answer is not drawn, whenever it comes", async (t) => {
  const { asked, answer } = server(t);
  const { slow, drawn, waits } = listener();
  slow.ask("", "earlier");
  slow.ask("", "later");
  assert.deepEqual(asked, ["/slow/earlier", "/slow/later"]);
  await answer(0, part("earlier"));
  assert.deepEqual([drawn, waits.at(-1)], [[], true]);
  await answer(1, part("later"));
  assert.deepEqual([drawn, waits.at(-1), asked.length], [["later"], false, 2]);
});

test("a part that is being read when the answer changes is not drawn", async (t) => {
  const { slow, drawn } = listener();
  let read;
  const body = new Promise((resolve) => (read = resolve));
  t.mock.method(globalThis, "fetch", async (address) => ({ status: address.endsWith("earlier") ? 200 : 205, json: () => body }));
  slow.ask("", "earlier");
  await painted(); // it has the head of the reply, and waits for its body
  slow.ask("", "later");
  read(part("earlier"));
  await painted();
  assert.deepEqual(drawn, []);
});

test("an answer without slow parts ends what is on its way", async (t) => {
  const { asked, answer } = server(t);
  const { slow, drawn, waits } = listener();
  slow.ask("", "token");
  slow.ask("", "");
  await answer(0, part("late"));
  assert.deepEqual([drawn, waits.at(-1), asked.length], [[], false, 1]);
});

test("what stopped can be asked for again", async (t) => {
  const { asked, answer } = server(t);
  const { slow, drawn, waits } = listener();
  slow.ask("", "token");
  slow.stop(); // a hand moves
  assert.equal(waits.at(-1), false);
  slow.ask("", "token"); // and comes back
  await answer(1, part("again"));
  assert.deepEqual([drawn, asked.length], [["again"], 2]);
});

test("what the server does not know any more is not asked for again; a busy one is, after a while", async (t) => {
  const { asked, answer } = server(t);
  const { slow, waits } = listener();
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const settled = async () => {
    for (let k = 0; k < 20; k++) await Promise.resolve();
  };
  slow.ask("", "token");
  const reply = async (k, status) => {
    answer(k, status);
    await settled();
  };
  await reply(0, 503);
  assert.equal(asked.length, 1);
  t.mock.timers.tick(1000);
  await settled();
  assert.equal(asked.length, 2);
  await reply(1, 205);
  t.mock.timers.tick(60_000);
  await settled();
  assert.deepEqual([asked.length, waits.at(-1)], [2, false]);
});

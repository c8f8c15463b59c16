// What a chart would be at other values of a field: asked for while a hand is at its control.
//
// Who is asked is one function, `ask({ token, field, texts }, signal)`. It yields frames by their texts, as they come, in
// about this order: null where the field does not allow a value, { why } where there is none yet. The app's server
// (`fromServer`), a table in the page (`fromTable`) or a worker can stand behind it.

import { axesOf } from "./axes.js";
import { unpacked } from "./columns.js";

const DRAWN = 2.5; // stops off at which the one counts where a hand rests: what stands there is drawn
const LEAD = 1; // stops that a moving hand goes on until frames come
const BEHIND = 4; // times as far off as one before a moving hand counts one behind it
const STRAYED = 2; // stops from where a hand was when they were asked for: then they come in another order
const NEAR = 8; // stops off, beyond which the order does not matter
const RETRY = 1000; // ms
const LOST = 30_000; // ms without an answer after which they are asked for again: the link is another

// The token of a field is not known any more: the page has moved on.
class Gone extends Error {}

// The app's server, which sends them line by line as they are made. A later request of the page ends an earlier one.
export const fromServer = (address) =>
  async function* ({ token, field, texts }, signal) {
    const query = new URLSearchParams({ field, at: texts.join(",") });
    const reply = await fetch(`${location.origin}${address}/frames/${token}?${query}`, { signal });
    if (reply.status === 205) throw new Gone();
    if (reply.status !== 200) throw new Error(`frames: ${reply.status}`);
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    const columns = {}; // each comes once
    for (let rest = "", told = await reader.read(); !told.done; told = await reader.read()) {
      const lines = (rest + told.value).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        const { frames, columns: more } = JSON.parse(line);
        Object.assign(columns, more);
        yield Object.fromEntries(
          Object.entries(frames).map(([text, frame]) => [text, frame?.figure ? { ...frame, figure: unpacked(frame.figure, columns) } : frame]),
        );
      }
    }
  };

// A table in the page: field → text → frame, as it is packed; `opened` unpacks one.
export const fromTable = (table, opened) =>
  async function* ({ field, texts }) {
    yield Object.fromEntries(texts.map((text) => [text, table[field][text] ? opened(table[field][text]) : null]));
  };

export class Frames {
  // `arrived` is told how many of a field are there, as some come and as no more do.
  constructor(arrived) {
    this.arrived = arrived;
    this.tokens = {};
    this.gone = new Set(); // tokens that are not known any more, until the next answer
    this.kept = new Map(); // token → text → frame
    this.under = null; // the latest request that is on its way
    this.end = new AbortController(); // of all that are
  }

  offer(ask, tokens) {
    this.ask = ask;
    this.tokens = tokens;
    this.gone.clear();
    const used = new Set(Object.values(tokens));
    for (const token of this.kept.keys()) if (!used.has(token)) this.kept.delete(token);
  }

  has(field) {
    return field in this.tokens;
  }

  at(field, text) {
    return this.kept.get(this.tokens[field])?.get(text);
  }

  // Whether the frame of a text was asked for and is on its way.
  coming(field, text) {
    const { under } = this;
    return this.has(field) && under?.token === this.tokens[field] && under.texts.includes(text) && this.at(field, text) === undefined;
  }

  // The axes of all frames of a field that are there, as `fitting` draws them.
  axes(field, fitting) {
    const frames = [...(this.kept.get(this.tokens[field])?.values() ?? [])].filter((frame) => frame?.figure);
    return frames.map(({ figure }) => axesOf(fitting(figure).layout)).filter(Boolean);
  }

  // A hand is at a control, or moves it: in the end all its frames are asked for.
  near({ field, at, stops, between }) {
    const before = this.wish?.field === field ? this.wish : { at, way: 0 };
    this.wish = { field, at, stops, between, way: Math.sign(at - before.at) || before.way };
    this.go();
  }

  // Nothing moves, and the page is there: what the hand may want next.
  go() {
    this.paused = false;
    this.fill();
  }

  // The hand let go: what the server computes now is the page.
  rest() {
    if (this.wish) this.wish.way = 0;
    this.paused = true;
    this.stopAsking();
  }

  // The hand left that control.
  away(field) {
    if (this.wish?.field !== field) return;
    this.wish = null;
    this.stopAsking();
  }

  // Asks for what is missing, unless it comes soon.
  fill() {
    if (this.paused || !this.wish || this.waits) return;
    const { field, at, way } = this.wish;
    const token = this.tokens[field];
    if (!token || this.gone.has(token)) return;
    const missing = order(this.wish).filter(({ text }) => !this.kept.get(token)?.has(text));
    if (!missing.length || (this.under?.token === token && this.soon(missing[0]))) return;
    this.get({ token, field, at, way, texts: missing.map(({ text }) => text), begun: performance.now() });
  }

  // Whether what is on its way brings the first one that is missing before a new request could.
  soon({ far }) {
    const { under, wish } = this;
    if (!under.answered) return performance.now() - under.begun < LOST;
    return far > NEAR || (under.way === wish.way && Math.abs(wish.at - under.at) < STRAYED);
  }

  async get(request) {
    this.under = request;
    const { signal } = this.end;
    try {
      for await (const frames of this.ask(request, signal)) {
        request.answered = true;
        this.keep(request, frames);
      }
      if (!request.answered) throw new Error("no frames");
    } catch (error) {
      if (error instanceof Gone) this.gone.add(request.token);
      else if (!signal.aborted) this.waits ??= setTimeout(() => this.again(), RETRY); // the server is gone or busy
    }
    if (this.under !== request) return;
    this.under = null;
    this.fill();
    if (!this.under) this.arrived(this.kept.get(request.token)?.size ?? 0);
  }

  again() {
    this.waits = null;
    this.fill();
  }

  keep({ token }, frames) {
    if (!this.kept.has(token)) this.kept.set(token, new Map());
    const kept = this.kept.get(token);
    for (const [text, frame] of Object.entries(frames)) kept.set(text, frame);
    this.arrived(kept.size);
  }

  stopAsking() {
    this.end.abort();
    this.end = new AbortController();
    this.under = null;
  }

  stop() {
    this.wish = null;
    this.stopAsking();
  }
}

// In which order frames are to come: those between two stops, then the nearest first, sooner before a hand than behind it.
function order({ at, stops, between, way }) {
  const hand = at + way * LEAD;
  const off = (k) => (k === at && !way ? DRAWN : Math.abs(k - hand) * (way * (k - hand) < 0 ? BEHIND : 1));
  const places = stops.map((text, k) => ({ text, far: off(k) })).sort((a, b) => a.far - b.far);
  return [...between.map((text) => ({ text, far: 0 })), ...places];
}

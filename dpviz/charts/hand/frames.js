// What a chart would be at other values of a field: fetched while a hand is at its control.

import { axesOf } from "./axes.js";
import { unpacked } from "./columns.js";

// Frames that a request asks for. It is answered with those that are there, or as soon as one is: then the next says
// where the hand is now.
const MOST = { rests: 24, moves: 8 };
const NEAR = { rests: 8, moves: 2 }; // stops on either side that come first; then every fourth, every second, all
const AHEAD = 8; // stops before a moving hand that come first
const HALT = 150; // ms after which a hand that moved stands still
const RETRY = 1000; // ms
const LOST = 30_000; // ms after which a request is made again: the link is another

export class Frames {
  // `given`: field → text → frame, of a page without a server, where a field is its own token.
  constructor(arrived, given = {}) {
    this.arrived = arrived;
    this.tokens = {};
    this.gone = new Set(); // tokens that the server does not know any more, until its next answer
    this.kept = new Map(Object.entries(given).map(([field, frames]) => [field, new Map(Object.entries(frames))])); // token → text → frame
    this.under = new Map(); // requests on their way → what ends them
    this.took = 0; // ms from a request to its answer
  }

  offer(address, tokens) {
    this.address = address;
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

  // The axes of all frames of a field that are there, as `fitting` draws them.
  axes(field, fitting) {
    const frames = [...(this.kept.get(this.tokens[field])?.values() ?? [])].filter((frame) => frame?.figure);
    return frames.map(({ figure }) => axesOf(fitting(figure).layout)).filter(Boolean);
  }

  // A hand is at a control, or moves it: in the end all its frames are fetched.
  near({ field, at, stops, between, phase }) {
    const pace = phase === "near" ? "rests" : "moves";
    const [now, before] = [performance.now(), this.wish?.field === field ? this.wish : null];
    if (!before) this.turnTo(field);
    const since = before ? now - before.now : HALT;
    // Stops a millisecond.
    const speed = since >= HALT ? 0 : before.at === at ? before.speed : ((at - before.at) / Math.max(since, 1) + before.speed) / 2;
    this.wish = { field, at, stops, between, pace, speed, now: before?.at === at && since < HALT ? before.now : now };
    this.go();
  }

  // Another control: what is on its way for others is of no interest.
  turnTo(field) {
    for (const [request, end] of this.under) if (request.token !== this.tokens[field]) end.abort();
  }

  // Nothing moves, and the page is there: what the hand may want next.
  go() {
    this.paused = false;
    this.fill();
  }

  // The hand let go: what the server computes now is the page.
  rest() {
    if (this.wish) this.wish.pace = "rests";
    this.paused = true;
  }

  // The hand left that control.
  away(field) {
    if (this.wish?.field === field) this.wish = null;
  }

  // Keeps a request on its way.
  fill() {
    const request = this.next();
    if (request) this.fetch(request);
  }

  // The next request; null where nothing is to be asked for now.
  next() {
    if (this.paused || !this.wish || this.address === null || this.waits) return null;
    const { field, pace, speed } = this.wish;
    const token = this.tokens[field];
    if (!token || this.gone.has(token) || [...this.under.keys()].some((request) => request.token === token)) return null;
    const lead = pace === "moves" ? speed * this.took : 0; // where the hand is when they come
    const texts = order({ ...this.wish, lead }).filter((text) => !this.kept.get(token)?.has(text));
    return texts.length ? { token, field, texts: texts.slice(0, MOST[pace]) } : null;
  }

  async fetch(request) {
    const begun = performance.now();
    const end = new AbortController();
    this.under.set(request, end);
    try {
      this.keep(request, await this.reply(request, AbortSignal.any([end.signal, AbortSignal.timeout(LOST)])));
      this.took = (this.took + performance.now() - begun) / (this.took ? 2 : 1);
    } catch {
      if (!end.signal.aborted) this.waits ??= setTimeout(() => this.again(), RETRY); // the server is gone or busy
    } finally {
      this.under.delete(request);
    }
    this.fill();
  }

  again() {
    this.waits = null;
    this.fill();
  }

  async reply({ token, field, texts }, signal) {
    const query = new URLSearchParams({ field, at: texts.join(",") });
    const reply = await fetch(`${location.origin}${this.address}/frames/${token}?${query}`, { signal });
    if (reply.status === 205) this.gone.add(token);
    if (reply.status !== 200) throw new Error(`frames: ${reply.status}`);
    return reply.json();
  }

  keep({ token }, { frames, columns }) {
    if (!this.kept.has(token)) this.kept.set(token, new Map());
    const kept = this.kept.get(token);
    for (const [text, frame] of Object.entries(frames)) {
      kept.set(text, frame?.figure ? { ...frame, figure: unpacked(frame.figure, columns) } : frame);
    }
    this.arrived(kept.size);
  }

  stop() {
    this.wish = null;
    for (const end of this.under.values()) end.abort();
  }
}

// In which order frames are to come: those around the hand and before it first, then a coarse net over all, ever finer.
// While it moves only the first ones: others would take the processor from them, and from the drawing.
function order({ at, stops, between, pace, lead = 0 }) {
  const ahead = Math.round(Math.min(Math.max(lead, -AHEAD), AHEAD));
  const [from, to] = [Math.min(ahead, 0) - NEAR[pace], Math.max(ahead, 0) + NEAR[pace]];
  const turn = (k) => (k - at >= from && k - at <= to ? 0 : k % 4 === 0 ? 1 : k % 2 === 0 ? 2 : 3);
  const off = (k) => (pace === "rests" && k === at ? NEAR.moves : Math.abs(k - at - ahead)); // what stands there is drawn
  const places = stops.map((text, k) => ({ text, turn: turn(k), off: off(k) })).filter(({ turn }) => !lead || turn === 0);
  places.sort((a, b) => a.turn - b.turn || a.off - b.off);
  return [...between, ...places.map(({ text }) => text)];
}

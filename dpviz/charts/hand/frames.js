// What a chart would be at other values of a field: fetched while a hand is at its control.

import { axesOf } from "./axes.js";
import { unpacked } from "./columns.js";

const FIRST = 2; // frames of the first request
const MOST = 24;
// ms that a request may take: the next one asks for as many frames as come in that time. A hand that moves is soon
// elsewhere.
const TAKES = { rests: 150, moves: 60 };
const NEAR = { rests: 8, moves: 2 }; // stops on either side that come first; then every fourth, every second, all
const RETRY = 1000; // ms

export class Frames {
  // `given`: field → text → frame, of a page without a server, where a field is its own token.
  constructor(arrived, given = {}) {
    this.arrived = arrived;
    this.tokens = {};
    this.gone = new Set(); // tokens that the server does not know any more, until its next answer
    this.kept = new Map(Object.entries(given).map(([field, frames]) => [field, new Map(Object.entries(frames))])); // token → text → frame
    this.under = null; // the request under way
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
    this.wish = { field, at, stops, between, pace };
    this.go();
  }

  // Nothing moves, and the page is there: what the hand may want next.
  go() {
    this.paused = false;
    if (!this.under && this.address !== null) this.fetchNext(FIRST);
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

  // The next request, for so many frames at most; null where nothing is to be asked for.
  next(count) {
    if (this.paused || !this.wish) return null;
    const { field, pace } = this.wish;
    const token = this.tokens[field];
    if (!token || this.gone.has(token)) return null;
    const texts = order(this.wish).filter((text) => !this.kept.get(token)?.has(text)).slice(0, count);
    return texts.length ? { token, field, texts, takes: TAKES[pace] } : null;
  }

  async fetchNext(count) {
    const request = this.next(count);
    if (!request) return;
    const begun = performance.now();
    this.under = new AbortController();
    try {
      this.keep(request, await this.reply(request));
    } catch {
      setTimeout(() => this.under || this.fetchNext(FIRST), RETRY); // the server is gone or busy
      return;
    } finally {
      this.under = null;
    }
    const each = (performance.now() - begun) / request.texts.length;
    this.fetchNext(Math.min(Math.max(Math.round(request.takes / each), FIRST), MOST));
  }

  async reply({ token, field, texts }) {
    const query = new URLSearchParams({ field, at: texts.join(",") });
    const reply = await fetch(`${location.origin}${this.address}/frames/${token}?${query}`, { signal: this.under.signal });
    if (reply.status === 404) this.gone.add(token);
    if (!reply.ok) throw new Error(`frames: ${reply.status}`);
    return reply.json();
  }

  keep({ token, texts }, { frames, columns }) {
    if (!this.kept.has(token)) this.kept.set(token, new Map());
    const kept = this.kept.get(token);
    for (const text of texts) {
      const frame = frames[text];
      kept.set(text, frame?.figure ? { ...frame, figure: unpacked(frame.figure, columns) } : frame);
    }
    this.arrived(kept.size);
  }

  stop() {
    this.under?.abort();
    this.wish = null;
  }
}

// In which order frames are to come: those around the hand first, then a coarse net over all, ever finer.
function order({ at, stops, between, pace }) {
  const turn = (k) => (Math.abs(k - at) <= NEAR[pace] ? 0 : k % 4 === 0 ? 1 : k % 2 === 0 ? 2 : 3);
  const places = stops.map((text, k) => ({ text, turn: turn(k), off: Math.abs(k - at) }));
  places.sort((a, b) => a.turn - b.turn || a.off - b.off);
  return [...between, ...places.map(({ text }) => text)];
}

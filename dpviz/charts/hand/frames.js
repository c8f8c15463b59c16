// What a chart would be at other values of a field. `Frames`: fetched when its control is touched, the nearest first.

import { axesOf } from "./axes.js";
import { unpacked } from "./columns.js";

const FIRST = 2; // frames of the first request
const MOST = 24;
const TAKES = 150; // ms that a request may take: the next one asks for as many frames as come in that time
const NEAR = 8; // stops on either side that are fetched when a control is touched
const AHEAD = 40; // and while it moves
const RETRY = 1000; // ms

export class Frames {
  constructor(arrived) {
    this.arrived = arrived;
    this.tokens = {};
    this.gone = new Set(); // tokens that the server does not know any more, until its next answer
    this.kept = new Map(); // token → text → frame
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
    return axesAmong([...(this.kept.get(this.tokens[field])?.values() ?? [])], fitting);
  }

  near({ field, at, stops, between, phase }) {
    const reach = phase === "near" ? NEAR : AHEAD;
    this.wish = { field, token: this.tokens[field], at, stops, between, reach };
    if (!this.under) this.fetchNext(FIRST);
  }

  missing() {
    const { token, at, stops, between, reach } = this.wish;
    const kept = this.kept.get(token) ?? new Map();
    const order = stops.map((text, k) => [Math.abs(k - at), text]).filter((pair) => pair[0] <= reach);
    const nearest = order.sort((a, b) => a[0] - b[0]).map((pair) => pair[1]);
    return [...between, ...nearest].filter((text) => !kept.has(text));
  }

  // The hand rests: what the server computes now is the page.
  rest() {
    this.wish = null;
  }

  async fetchNext(count) {
    const { field, token } = this.wish ?? {};
    const texts = token && !this.gone.has(token) ? this.missing().slice(0, count) : [];
    if (!texts.length) return;
    const begun = performance.now();
    this.under = new AbortController();
    try {
      const query = new URLSearchParams({ field, at: texts.join(",") });
      const reply = await fetch(`${location.origin}${this.address}/frames/${token}?${query}`, {
        signal: this.under.signal,
      });
      if (reply.status === 404) this.gone.add(token);
      if (!reply.ok) throw new Error(`frames: ${reply.status}`);
      const { frames, columns } = await reply.json();
      if (!this.kept.has(token)) this.kept.set(token, new Map());
      const kept = this.kept.get(token);
      for (const text of texts) {
        const told = frames[text];
        kept.set(text, told ? { ...told, figure: unpacked(told.figure, columns) } : null);
      }
      this.arrived(kept.size);
    } catch {
      setTimeout(() => this.under || this.fetchNext(FIRST), RETRY); // the server is gone or busy
      return;
    } finally {
      this.under = null;
    }
    const each = (performance.now() - begun) / texts.length;
    this.fetchNext(Math.min(Math.max(Math.round(TAKES / each), FIRST), MOST));
  }

  stop() {
    this.under?.abort();
    this.wish = null;
  }
}

function axesAmong(frames, fitting) {
  return frames.map((frame) => frame && axesOf(fitting(frame.figure).layout)).filter(Boolean);
}

// The same for a page without a server: all frames are there from the start, field → text → frame.
export class GivenFrames {
  constructor(given) {
    this.given = given;
  }

  has(field) {
    return field in this.given;
  }

  at(field, text) {
    return this.given[field]?.[text];
  }

  axes(field, fitting) {
    return axesAmong(Object.values(this.given[field] ?? {}), fitting);
  }

  offer() {}
  near() {}
  rest() {}
  stop() {}
}

// A page that was handed out: one chart, its controls, and all that they can show; there is no server.

import { loadPacked, packed, unpacked } from "dpviz/columns.js";
import { fromTable } from "dpviz/frames.js";
import mountNumber from "dpviz/number.js";
import { numberIn, readings } from "dpviz/readings.js";
import { head } from "dpviz/over.js";

const NOW = Number.MAX_SAFE_INTEGER; // an answer that knows every entry

class Page {
  constructor({ fields, base, frames, columns, config, key }) {
    const figured = (frame) => ({ ...frame, figure: unpacked(frame.figure, columns) });
    this.base = figured(base);
    this.frames = {};
    for (const [field, stops] of Object.entries(frames)) {
      const built = Object.entries(stops).map(([text, frame]) => [text, figured(frame)]);
      this.frames[field] = Object.fromEntries(built);
    }
    const tokens = Object.fromEntries(fields.map(({ field }) => [field, field]));
    const pulled = Object.fromEntries(fields.map((field) => [field.field, field]));
    this.chart = { key, config, camera: true, ask: fromTable(this.frames), frames: tokens, pulled };
    this.answers = NOW - 1e9;
    this.fields = fields;
    this.moved = null; // the field that does not stand where it was
    for (const field of fields) {
      this.frames[field.field][field.value] = this.base;
      field.parent = document.createElement("div");
      document.getElementById("controls").append(field.parent);
      this.stand(field, field.value);
    }
    window.addEventListener("dpviz-move", ({ detail }) => ["near", "away"].includes(detail.phase) || this.only(detail.field));
    this.show(this.base);
  }

  // One setting moves at a time: the others go back.
  only(name) {
    if (this.moved && this.moved.field !== name) {
      this.stand(this.moved, this.moved.value, `Back at ${this.moved.value}: one setting moves at a time here.`);
    }
    this.moved = this.fields.find((field) => field.field === name);
  }

  stand(field, text, note = "") {
    const shown = { ...field, value: text, text, said: text, note, wrong: "", seen: NOW, shows_label: true };
    mountNumber({ parentElement: field.parent, data: shown, setStateValue: (_, entry) => this.enter(field, entry) });
  }

  // What a person typed as a number, or what is wrong with it. The slider's range decides between two readings.
  typed(field, text) {
    const texts = readings(text);
    const numbers = field.stops.map(Number).filter(Number.isFinite);
    const [first, last] = [numbers[0], numbers.at(-1)];
    const inRange = texts.filter((one) => numberIn(one) >= first && numberIn(one) <= last);
    if (texts.length > 1 && inRange.length !== 1) {
      return [NaN, `“${text}” may mean two numbers; type ${texts.join(" or ")}.`];
    }
    const number = numberIn(inRange[0] ?? text);
    return [number, Number.isFinite(number) ? "" : `“${text}” is not a number.`];
  }

  enter(field, { text, exact }) {
    const named = field.stops.includes(text.trim().toLowerCase()) ? text.trim().toLowerCase() : "";
    const [number, problem] = exact || named ? [Number(text), ""] : this.typed(field, text);
    const away = (stop) => Math.abs(Number(stop) - number);
    const stop = problem ? field.value : named || field.stops.reduce((best, next) => (away(next) < away(best) ? next : best));
    const note = problem || (!named && away(stop) ? `${text} is not in this page; this is the nearest that is.` : "");
    this.only(field.field);
    this.stand(field, stop, note);
    this.show(this.frames[field.field][stop]);
  }

  show(frame) {
    head(document.querySelector(".dpviz-headline"), frame.headline);
    document.querySelector(".dpviz-strip").outerHTML = frame.strip;
    document.getElementById("notes").innerHTML = frame.notes;
    for (const kind of ["captions", "pictures"]) window.dispatchEvent(new CustomEvent(`dpviz-${kind}`, { detail: frame[kind] ?? {} }));
    const data = { ...this.chart, figure: frame.figure, alt: frame.alt, words: { headline: frame.headline }, caption: frame.caption, seen: (this.answers += 1) };
    mountChart({ parentElement: document.getElementById("chart"), data: data });
  }
}

await loadPacked("plotly");
const { default: mountChart } = await import("dpviz/chart.js");
new Page(await (await packed("frames")).json());

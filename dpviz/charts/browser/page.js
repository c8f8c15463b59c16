// A page without a server: one chart, its controls, and all that they can show.
//
// At the address that ends in #framed it shows the chart and its controls alone, for a frame in another page.
//
// Who is asked for a frame is one function, as in `frames.js`: a table in the page, or a worker that computes it.

import { loadPacked, packed, unpacked } from "dpviz/columns.js";
import { made } from "dpviz/dom.js";
import { fromTable } from "dpviz/frames.js";
import mountNumber from "dpviz/number.js";
import { numberIn, readings } from "dpviz/readings.js";
import { head } from "dpviz/over.js";

const NOW = Number.MAX_SAFE_INTEGER; // an answer that knows every entry

class Page {
  // `ask` yields frames by their texts, see `frames.js`; `base` is the frame of the settings that the page opens with.
  constructor({ fields, base, config, key, version }, ask) {
    Object.assign(this, { fields, base, version, ask });
    const tokens = Object.fromEntries(fields.map(({ field }) => [field, field]));
    const pulled = Object.fromEntries(fields.map((field) => [field.field, field]));
    this.chart = { key, config, camera: true, ask, frames: tokens, pulled };
    this.answers = NOW - 1e9;
    this.moved = null; // the field that does not stand where it was
    this.back = null; // the one that went back for it
    this.texts = {}; // what was entered of each field, the last time that it moved
    this.app = document.getElementById("app");
    this.link = this.app?.getAttribute("href");
    const controls = document.getElementById("controls");
    for (const field of fields) {
      field.parent = made("div", "", controls);
      this.stand(field, field.value);
    }
    this.wentBack = made("p", "dpviz-caution", controls, { id: "back", hidden: true });
    this.wentBack.setAttribute("role", "status");
    window.addEventListener("dpviz-move", ({ detail }) => ["near", "away"].includes(detail.phase) || this.only(detail.field, detail.text));
    this.show(base);
  }

  // One setting moves at a time: the other goes back, and words say so.
  only(name, text) {
    const before = this.moved;
    this.moved = this.fields.find(({ field }) => field === name);
    this.texts[name] = text;
    if (before && before !== this.moved) {
      this.stand(before, before.value);
      this.back = this.texts[before.field] === before.value ? null : before;
    }
    if (this.link) this.app.href = this.addressOf(this.moved);
    this.sayBack();
  }

  sayBack() {
    const { back, moved, link } = this;
    this.wentBack.hidden = !back || back === moved;
    if (this.wentBack.hidden) return;
    this.wentBack.replaceChildren();
    made("span", "", this.wentBack, { textContent: `${back.label} is back at ${back.value}: this page moves one setting at a time. ` });
    if (link) made("a", "", this.wentBack, { href: this.addressOf(back, moved), textContent: "Set both in the app." });
  }

  // Where the app shows these fields as they were entered last, and all others as the page opened.
  addressOf(...fields) {
    if (!this.link) return "";
    const [place, query = ""] = this.link.split("?");
    const says = new URLSearchParams(query);
    for (const { field } of fields) says.set(field, this.texts[field]);
    says.set(...this.version);
    return `${place}?${says}`;
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

  async enter(field, { text, exact }) {
    const named = field.stops.includes(text.trim().toLowerCase()) ? text.trim().toLowerCase() : "";
    const [number, problem] = exact || named ? [Number(text), ""] : this.typed(field, text);
    const away = (stop) => Math.abs(Number(stop) - number);
    const stop = problem ? field.value : named || field.stops.reduce((best, next) => (away(next) < away(best) ? next : best));
    const note = problem || (!named && away(stop) ? `${text} is not in this page; this is the nearest that is.` : "");
    this.only(field.field, stop);
    this.stand(field, stop, note);
    const wanted = (this.wanted = { field, stop });
    const frame = stop === field.value ? this.base : await this.frame(field.field, stop);
    if (frame?.figure && this.wanted === wanted) this.show(frame); // else another one is wanted meanwhile
  }

  // One frame.
  async frame(field, text) {
    for await (const frames of this.ask({ token: field, field, texts: [text] })) if (text in frames) return frames[text];
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

if (location.hash === "#framed") { // in a frame of another page: the chart and its controls alone
  document.documentElement.classList.add("framed");
  made("base", "", document.head, { target: "_top" });
}
await loadPacked("plotly");
const { default: mountChart } = await import("dpviz/chart.js");
const content = await (await packed("frames")).json();
const opened = (frame) => ({ ...frame, figure: unpacked(frame.figure, content.columns) });
for (const { field, value } of content.fields) content.frames[field][value] = content.base;
new Page({ ...content, base: opened(content.base) }, fromTable(content.frames, opened));

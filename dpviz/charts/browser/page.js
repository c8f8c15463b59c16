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
let answers = NOW - 1e9; // how far they are counted

class Page {
  // `ask` yields frames by their texts, see `frames.js`; `base` is the frame of the settings that the page opens with.
  constructor({ fields, base, config, key, version }, ask) {
    Object.assign(this, { fields, base, version, ask });
    const tokens = Object.fromEntries(fields.map(({ field }) => [field, field]));
    const pulled = Object.fromEntries(fields.map((field) => [field.field, field]));
    this.chart = { key, config, camera: true, ask, frames: tokens, pulled };
    this.gone = new AbortController();
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
    window.addEventListener("dpviz-move", ({ detail }) => ["near", "away"].includes(detail.phase) || this.only(detail.field, detail.text), { signal: this.gone.signal });
    this.show(base);
  }

  // Another chart stands in its place.
  leave() {
    this.gone.abort();
    for (const field of this.fields) field.leave();
    document.getElementById("controls").replaceChildren();
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
    field.leave = mountNumber({ parentElement: field.parent, data: shown, setStateValue: (_, entry) => this.enter(field, entry) });
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
    if (frame.sentence) document.querySelector("section:not([hidden]) .sentence").innerHTML = frame.sentence;
    for (const kind of ["captions", "pictures"]) window.dispatchEvent(new CustomEvent(`dpviz-${kind}`, { detail: frame[kind] ?? {} }));
    const data = { ...this.chart, figure: frame.figure, alt: frame.alt, words: { headline: frame.headline }, caption: frame.caption, seen: (answers += 1) };
    mountChart({ parentElement: document.getElementById("chart"), data: data });
  }
}

if (location.hash === "#framed") { // in a frame of another page: the chart and its controls alone
  document.documentElement.classList.add("framed");
  made("base", "", document.head, { target: "_top" });
}
await loadPacked("plotly");
const { default: mountChart } = await import("dpviz/chart.js");
const slides = document.querySelectorAll("section[data-stop]");
if (slides.length) lecture();
else await pageOf("frames");

// The chart that this script element holds, and its controls.
async function pageOf(id) {
  const content = await (await packed(id)).json();
  const opened = (frame) => ({ ...frame, figure: unpacked(frame.figure, content.columns) });
  for (const { field, value } of content.fields) content.frames[field][value] = content.base;
  if (content.link) document.getElementById("app").href = content.link;
  return new Page({ ...content, base: opened(content.base) }, fromTable(content.frames, opened));
}

// A lecture: one stop after the other stands in the page's place; on paper all of them do.
function lecture() {
  const [back, on] = ["back", "on"].map((id) => document.getElementById(id));
  let page = null;
  let here = 0;
  const go = async (to) => {
    if (!(to >= 1 && to <= slides.length) || to === here) return;
    here = to;
    for (const slide of slides) slide.hidden = Number(slide.dataset.stop) !== to;
    [back.disabled, on.disabled] = [to === 1, to === slides.length];
    history.replaceState(null, "", `#${to}`);
    page?.leave();
    page = null;
    const next = await pageOf(`frames${to}`);
    if (here === to) page = next;
    else next.leave();
  };
  back.onclick = () => go(here - 1);
  on.onclick = () => go(here + 1);
  window.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, PageUp: -1, ArrowRight: 1, PageDown: 1 }[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey || document.activeElement?.matches("input")) return;
    event.preventDefault();
    go(here + by);
  });
  document.getElementById("print").onclick = async () => {
    await pictures;
    window.print();
  };
  const pictures = go(Number(location.hash.slice(1)) || 1).then(onPaper);
}

// The chart of every stop as a picture, which paper shows.
async function onPaper() {
  for (const picture of document.querySelectorAll("#paper img")) {
    const content = await (await packed(`frames${picture.dataset.stop}`)).json();
    const { data, layout } = unpacked(content.base.figure, content.columns);
    picture.src = await window.Plotly.toImage({ data, layout: { ...layout, width: 900, height: 440 } }, { format: "svg", width: 900, height: 440 });
  }
}

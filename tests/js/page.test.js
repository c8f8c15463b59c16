// A page without a server: what it holds, what it says of values that it does not hold, and that one setting moves.

import assert from "node:assert/strict";
import test from "node:test";
import { gzipSync } from "node:zlib";

import { act, browser, Element } from "./elements.js";

browser();
globalThis.location = { pathname: "/", search: "" };
window.history = { state: null, replaceState: () => {} };

const figure = { data: [], layout: {} };
const frame = (headline) => ({ figure, headline, strip: "", notes: "", alt: headline, caption: "", captions: { sigma: `at ${headline}` }, pictures: { sigma: "<svg/>" } });
const number = (field, value, stops) => ({ field, label: field, help: "", stops, whole: false, value, ends: ["", ""], offers: [], why: "" });
const CONTENT = {
  fields: [number("sigma", "2", ["1", "2", "4"]), number("order", "8", ["8", "16", "best"])],
  base: frame("σ 2, order 8"),
  frames: { sigma: { 1: frame("σ 1"), 4: frame("σ 4") }, order: { 16: frame("order 16"), best: frame("best order") } },
  columns: {}, config: {}, key: "page", version: ["v", "3"],
};

const zipped = (text) => gzipSync(Buffer.from(text)).toString("base64");
const places = { controls: new Element("div"), notes: new Element("div"), chart: new Element("div"), app: new Element("a") };
places.app.setAttribute("href", "http://localhost:8501/page?delta=1e-6");
places.frames = { textContent: zipped(JSON.stringify(CONTENT)) };
places.plotly = { textContent: zipped("") };
const [headline, strip] = [new Element("p"), new Element("div")];
document.getElementById = (id) => places[id];
document.querySelectorAll = () => []; // no lecture: one chart
document.querySelector = (selector) => (selector === ".dpviz-headline" ? headline : strip);
document.head = { append: (script) => setTimeout(script.onload) };
globalThis.charts = []; // what the chart is told, in place of a chart
await import("dpviz/page.js");

const says = () => headline.innerHTML;
const box = (field) => places.controls.find((one) => one.dataset.field === field);
const texts = (field) => box(field).find((one) => one.type === "text");
const noted = (field) => box(field).find((one) => one.className === "dpviz-caution")?.textContent ?? "";

const back = () => places.controls.find((one) => one.id === "back");

// What a page shows is asked for, and comes a moment later.
async function type(field, text) {
  texts(field).value = text;
  act(texts(field), "input");
  act(texts(field), "keydown", { key: "Enter" });
  await new Promise((done) => setTimeout(done));
}

test("it opens at its settings, and shows what it holds of others", async () => {
  assert.equal(says(), "σ 2, order 8");
  await type("sigma", "4");
  assert.deepEqual([says(), texts("sigma").value, noted("sigma")], ["σ 4", "4", ""]);
  assert.equal(charts.at(-1).alt, "σ 4");
});

test("of a value that it does not hold it shows the nearest, and says so", async () => {
  await type("sigma", "1,2");
  assert.deepEqual([says(), texts("sigma").value], ["σ 1", "1"]);
  assert.equal(noted("sigma"), "sigma: 1,2 is not in this page; this is the nearest that is.");
  await type("sigma", "4");
  assert.equal(noted("sigma"), "");
});

test("what is no number, or may mean two, changes nothing and is said", async () => {
  await type("sigma", "much");
  assert.deepEqual([says(), texts("sigma").value], ["σ 2, order 8", "2"]);
  assert.match(noted("sigma"), /“much” is not a number\./);
  await type("sigma", "5.000");
  assert.match(noted("sigma"), /“5\.000” may mean two numbers; type 5 or 5000\./);
});

test("one setting moves at a time: the other goes back, and words say so and lead to both in the app", async () => {
  await type("sigma", "4");
  assert.equal(places.app.href, "http://localhost:8501/page?delta=1e-6&sigma=4&v=3");
  assert.equal(back().hidden, true);
  await type("order", "Best");
  assert.deepEqual([says(), texts("order").value, texts("sigma").value], ["best order", "best", "2"]);
  assert.deepEqual([back().hidden, back().children[0].textContent], [false, "sigma is back at 2: this page moves one setting at a time. "]);
  assert.equal(back().children[1].href, "http://localhost:8501/page?delta=1e-6&sigma=4&order=best&v=3");
  assert.equal(places.app.href, "http://localhost:8501/page?delta=1e-6&order=best&v=3");
  await type("order", "8");
  await type("sigma", "1");
  assert.equal(back().hidden, true, "nothing went back: it stood where the page opens");
});

test("of two frames that are asked for, the last is shown", async () => {
  type("sigma", "1");
  await type("sigma", "4");
  assert.equal(says(), "σ 4");
});

test("what stands below a slider is that of the values which are shown", async () => {
  const told = [];
  const listen = ({ type, detail }) => told.push([type, detail]);
  for (const kind of ["captions", "pictures"]) window.addEventListener(`dpviz-${kind}`, listen);
  await type("sigma", "1");
  for (const kind of ["captions", "pictures"]) window.removeEventListener(`dpviz-${kind}`, listen);
  assert.deepEqual(told, [["dpviz-captions", { sigma: "at σ 1" }], ["dpviz-pictures", { sigma: "<svg/>" }]]);
});

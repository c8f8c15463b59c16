// Plotly, for one chart: loaded once a page, and asked to look and behave as the page does.

import { camera, saveImage } from "./image.js";
import { isNarrow } from "./fitting.js";

let loading = null;
function library() {
  loading ??= new Promise((resolve, reject) => {
    if (window.Plotly) return resolve(window.Plotly);
    const script = document.createElement("script");
    script.src = new URL("plotly.js", import.meta.url).href;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      loading = null; // the next chart tries again
      reject(new Error("The chart's library could not be loaded. Reload the page."));
    };
    document.head.append(script);
  });
  return loading;
}

// The library is on its way before the first chart is: both come at once.
library().catch(() => {}); // said where a chart needs it

export class Plotter {
  // `given()`: Plotly's `config`, and what an image holds: figure, headline, caption. `hears`: `failed(error)`, of a
  // drawing, and what a visitor does: `doubleClicked()`, `changed()`.
  constructor(plot, given, hears) {
    Object.assign(this, { plot, given, hears });
    this.last = Promise.resolve(); // drawing
    this.revision = 0;
  }

  // One drawing after the other: Plotly mixes up two at a time.
  inTurn(work) {
    return (this.last = this.last.then(work).catch(this.hears.failed));
  }

  // To be called in turn.
  async draw({ data, layout }) {
    this.library = await library();
    const { width, ...rest } = structuredClone(layout); // Plotly writes a visitor's zoom into it
    this.revision += 1;
    // What a visitor chose is in the layout already: another revision each time, so that Plotly adds nothing of its own.
    const whole = { ...themed(this.plot, rest), uirevision: this.revision, autosize: true };
    await this.library.react(this.plot, data, whole, this.config());
    if (this.listens) return;
    this.listens = true;
    this.plot.on("plotly_doubleclick", this.hears.doubleClicked);
    this.plot.on("plotly_relayout", this.hears.changed);
  }

  // With a camera of our own in place of Plotly's, but where the page has buttons for it, and Fit in place of its way back.
  config() {
    const { toImageButtonOptions: options, modeBarButtonsToRemove: usual = [], ...rest } = this.given().config;
    const zoom = isNarrow(this.plot) ? ["zoom2d"] : []; // a finger scrolls
    const removed = [...usual, "toImage", "resetScale2d", ...zoom];
    const added = this.given().camera ? [camera(this.library, () => this.picture(), options)] : [];
    return { ...rest, responsive: false, doubleClick: false, modeBarButtonsToRemove: removed, modeBarButtonsToAdd: added };
  }

  picture() {
    return { ...this.given(), family: themed(this.plot, {}).font.family };
  }

  save(format) {
    const options = { ...this.given().config.toImageButtonOptions, format };
    return saveImage(this.library, this.picture(), this.plot.clientWidth, options);
  }

  resize() {
    return this.library.Plots.resize(this.plot);
  }

  purge() {
    this.library?.purge(this.plot);
    this.listens = false;
  }
}

// The page's type and colours for a layout.
function themed(plot, layout) {
  const style = getComputedStyle(plot);
  const of = (name, usual) => style.getPropertyValue(name).trim() || usual;
  const color = of("--st-text-color", "#31333f");
  const ground = of("--st-background-color", "#ffffff");
  const font = { ...layout.font, family: of("--st-font", style.fontFamily), color };
  const hoverlabel = { ...layout.hoverlabel, bgcolor: ground, bordercolor: "rgba(128,128,128,0.4)" };
  hoverlabel.font = { ...layout.hoverlabel?.font, color, family: font.family };
  return { ...layout, font, hoverlabel };
}

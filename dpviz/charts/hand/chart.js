// A chart that stays mounted. The server changes its figure; a control's movement changes it at once, from frames.

import { unpacked } from "./columns.js";
import { Hand } from "./draw.js";
import { Frames, GivenFrames } from "./frames.js";

let loading = null;
function plotly() {
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
plotly().catch(() => {}); // said where a chart needs it

export default function mount({ parentElement, data }) {
  const chart = (parentElement.dpvizChart ??= new MountedChart(parentElement, data.given));
  chart.adopt(data);
  const mine = (chart.mounts = (chart.mounts ?? 0) + 1);
  return () => mine === chart.mounts && chart.gone(); // an earlier mount may be ended after a later one began
}

class MountedChart {
  constructor(parent, given) {
    this.parent = parent;
    this.plot = document.createElement("div");
    this.plot.className = "dpviz-chart";
    this.plot.setAttribute("role", "img");
    parent.append(this.plot);
    this.drawn = Promise.resolve();
    const arrived = (kept) => {
      this.plot.dataset.kept = kept; // for who looks on
      this.follow();
    };
    this.frames = given ? new GivenFrames(given) : new Frames(arrived);
    this.moving = null; // the movement under way
    this.here = false; // whether it hears of movements
    this.onMove = (event) => this.moved(event.detail);
    this.sizes = new ResizeObserver(() => this.resize());
  }

  adopt(data) {
    if (!this.here) this.come();
    this.plot.setAttribute("aria-label", data.alt);
    this.plot.style.height = `${data.figure.layout.height}px`;
    this.frames.offer(data.at, data.frames);
    const told = JSON.stringify([data.figure, data.columns]);
    if (told !== this.told) this.figure = unpacked(data.figure, data.columns);
    this.told = told;
    this.data = data;
    // The hand is ahead of this answer: another one will come.
    if (this.moving && (!this.moving.entered || data.seen < this.moving.entered)) return;
    this.moving = null;
    if (this.wanted !== this.figure || this.hand?.away) this.settle();
  }

  // Draw what the server says; the last of it always.
  settle() {
    this.wanted = this.figure;
    this.plot.dataset.state = "drawing";
    this.inTurn(() => this.draw());
  }

  // One drawing after the other: Plotly mixes up two at a time.
  inTurn(work) {
    this.drawn = this.drawn.then(work).catch((error) => this.failed(error));
  }

  async draw() {
    if ((this.shown === this.wanted && !this.hand?.away) || !this.plot.isConnected) {
      this.plot.dataset.state = "drawn";
      return;
    }
    const figure = this.wanted;
    this.library = await plotly();
    await this.react(figure);
    this.shown = figure;
    this.hand ??= new Hand(this.plot, {
      react: (other) => this.react(other),
      relayout: (changed) => this.library.relayout(this.plot, changed),
      inTurn: (work) => this.inTurn(work),
    });
    this.hand.rest();
    this.hand.say(this.data.words ?? {}); // Streamlit draws no words again that it drew before
    if (this.wanted === figure) this.plot.dataset.state = "drawn";
    this.plot.dataset.drawn = Number(this.plot.dataset.drawn ?? 0) + 1; // for who looks on
    this.follow();
  }

  react({ data, layout }) {
    const { width, ...rest } = layout;
    const whole = { ...rest, ...this.theme(layout), uirevision: this.data.key, autosize: true };
    return this.library.react(this.plot, data, whole, { ...this.data.config, responsive: false });
  }

  failed(error) {
    this.plot.textContent = error.message;
  }

  theme(layout) {
    const style = getComputedStyle(this.plot);
    const of = (name, usual) => style.getPropertyValue(name).trim() || usual;
    const color = of("--st-text-color", "#31333f");
    const ground = of("--st-background-color", "#ffffff");
    const font = { ...layout.font, family: of("--st-font", style.fontFamily), color };
    const hoverlabel = { ...layout.hoverlabel, bgcolor: ground, bordercolor: "rgba(128,128,128,0.4)" };
    hoverlabel.font = { ...layout.hoverlabel?.font, color, family: font.family };
    return { font, hoverlabel };
  }

  resize() {
    const width = Math.round(this.plot.clientWidth);
    if (!this.shown || !width || width === this.width) return;
    this.width = width;
    clearTimeout(this.resizing);
    this.resizing = setTimeout(() => this.plot.isConnected && this.library.Plots.resize(this.plot), 60);
  }

  // --- a control moves ------------------------------------------------------------------------------------------------

  moved(move) {
    if (!this.frames.has(move.field) || !this.shown) return;
    if (move.phase === "enter") this.frames.rest();
    else this.frames.near(move);
    if (move.phase === "near") return;
    this.moving = { ...move, entered: move.phase === "enter" ? move.n : 0 };
    this.follow();
  }

  follow() {
    if (!this.moving || this.asked) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = null;
      const frame = this.moving && this.frames.at(this.moving.field, this.moving.text);
      if (frame && this.hand) this.hand.show(frame);
    });
  }

  // Streamlit may take a chart away and put it back at once: it must follow then as before.
  come() {
    this.here = true;
    window.addEventListener("dpviz-move", this.onMove);
    this.sizes.observe(this.plot);
  }

  gone() {
    this.here = false;
    window.removeEventListener("dpviz-move", this.onMove);
    this.sizes.disconnect();
    setTimeout(() => this.here || this.end());
  }

  end() {
    this.frames.stop();
    this.library?.purge(this.plot);
  }
}

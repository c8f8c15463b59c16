// A chart that stays mounted. The server changes its figure; a control's movement changes it at once, from frames.
//
// Of a value under the finger, `Movement` is the owner, `Frames` asks the server, and `Hand` draws. What the server
// answers is drawn here, by `Hand` at once where that can be, and by Plotly (`Plotter`) when nothing hurries.

import { axesOf, placed } from "./axes.js";
import { parsed } from "./columns.js";
import { counted, made, mounting } from "./dom.js";
import { Hand } from "./draw.js";
import { withEarlier } from "./earlier.js";
import { Explanation } from "./explanation.js";
import { emptyTop, fitted, heightHere, isNarrow, slideScale } from "./fitting.js";
import { Frames, fromServer } from "./frames.js";
import { Grips } from "./grips.js";
import { hear, listen } from "./heard.js";
import { link } from "./link.js";
import { Movement } from "./movement.js";
import { Chips, Names } from "./names.js";
import { Plotter } from "./plotter.js";
import { Pulls } from "./pulls.js";
import { Sentence } from "./sentence.js";
import { SlowParts } from "./slow_parts.js";

const PAPER = 680; // pixels of a printed page's width
const PATIENCE = { usual: 300, slow: 1500 }; // ms after which Plotly draws what was drawn by hand; while slow parts come

class MountedChart {
  constructor(parent) {
    this.root = made("div", "dpviz-stage", parent);
    this.plot = made("div", "dpviz-chart", this.root);
    this.plot.setAttribute("role", "figure"); // with buttons in it
    const why = made("div", "dpviz-why", this.root);
    why.setAttribute("role", "status");
    this.fit = made("button", "dpviz-fit", this.root, { type: "button", textContent: "Fit", hidden: true });
    this.fit.setAttribute("aria-label", "Fit the axes to the curves");
    this.fit.title = "Fit the axes to the curves";
    const onOwnAxes = () => this.again({ own: true });
    this.fit.addEventListener("click", onOwnAxes);
    this.names = new Names(this.plot, () => this.again());
    this.chips = new Chips(this.plot, this.names);
    this.plotter = new Plotter(
      this.plot,
      () => {
        const { words, caption, config, camera } = this.data;
        return { figure: this.whole, headline: words?.headline, caption, config, camera };
      },
      { failed: (error) => this.failed(error), doubleClicked: onOwnAxes, changed: () => this.offerFit() || this.grips.stand() },
    );
    const arrived = (kept) => {
      this.plot.dataset.kept = kept; // for who looks on
      this.movement.follow();
    };
    this.frames = new Frames(arrived);
    this.movement = new Movement(why, this.frames, (frame, field) => this.showFrame(frame, field));
    const waiting = (slow) => this.plot.toggleAttribute("data-slow", slow); // for who looks on
    this.slow = new SlowParts((parts) => this.completed(parts), waiting);
    this.pulls = new Pulls(this.root);
    const pull = (field, what) => (this.frames.has(field) ? this.pulls.pull(field, what) : null);
    this.grips = new Grips(this.plot, pull);
    this.sentence = new Sentence(pull);
    this.explanation = new Explanation(this.plot, () => this.hand?.place());
    this.entries = {}; // the last of every control, told all together: none is lost
    this.plot.addEventListener("pointerenter", () => this.waits && this.plotted());
  }

  // --- what the server says -----------------------------------------------------------------------------------------

  adopt({ data, setStateValue, setTriggerValue }) {
    this.tell = data.hears && { entries: (entries) => setStateValue("entries", entries), again: () => setTriggerValue("again", true) };
    this.plot.setAttribute("aria-label", data.alt);
    this.frames.offer(data.ask ?? fromServer(data.at), data.frames);
    const source = data.packed ?? data.figure; // of a server as a text; a page that was handed out has it unpacked
    if (source !== this.source) this.whole = data.packed ? parsed(data.packed) : data.figure;
    this.source = source;
    const another = this.data && this.data.key !== data.key; // the page asks another question
    if (another) this.asksAnother();
    this.data = data;
    this.slow.only(data.slow_parts);
    this.fitIn(another ? { resized: true } : {});
    this.pulls.adopt(data.pulled);
    for (const [field, says] of Object.entries(data.controls ?? {})) {
      window.dispatchEvent(new CustomEvent("dpviz-says", { detail: { field, says } }));
    }
    if (data.run) window.dispatchEvent(new CustomEvent("dpviz-run", { detail: data }));
    if (this.movement.ahead(data.seen)) return this.movement.follow(); // it came with words of its own
    if (this.wanted !== this.figure || this.hand?.away) this.settle();
    else this.movement.fade(false);
  }

  // Nothing of the question before is true of the next one; its chart stands until the new one is drawn.
  asksAnother() {
    this.movement.over();
    this.slow.stop();
    this.names.hidden.clear();
    this.last = null;
    this.stale = true;
  }

  // The figure of a page that goes on changing, now.
  follow({ key, packed, alt }) {
    if (key !== this.data.key || packed === this.source) return;
    this.whole = parsed(packed);
    this.source = packed;
    this.plot.setAttribute("aria-label", alt);
    this.fitIn();
    this.settle();
  }

  // The answer's slow parts are there.
  completed({ figure, alt, more, failed, ...words }) {
    if ((failed || this.data.whole) && !more) return this.tell?.again(); // all that shows it is to be told
    if (this.movement.last) return;
    this.whole = figure;
    this.source = null; // the server's next figure is another
    this.data = { ...this.data, words, slow_parts: more ? this.data.slow_parts : "" };
    this.plot.setAttribute("aria-label", alt);
    this.fitIn();
    this.settle();
  }

  // --- its size -----------------------------------------------------------------------------------------------------

  // What is to be drawn, as it is at this size of the screen. Once it stands, its height is another only where the
  // size is.
  fitIn({ resized = !this.shown } = {}) {
    const found = this.data.words?.notes?.matchAll(/dpviz-(?:caution|problem)"[^>]*>(.*?)<\/div>/gs) ?? [];
    const cautions = [...found].map(([, words]) => words.replace(/<[^>]*>/g, "").length);
    if (this.data.enlarged) this.plot.style.setProperty("--dpviz-empty", `${emptyTop(this.whole.layout)}px`);
    const scale = this.data.enlarged ? slideScale(this.plot, this.whole.layout, cautions) : null;
    if (resized || scale < this.scale) { // names that came since leave less room for the plot
      this.scale = scale;
      this.enlarge();
      this.height = heightHere(this.plot, this.whole.layout, this.data.fills, cautions, this.scale);
    }
    this.figure = this.fitting(this.complete(this.whole, this.data.slow_parts, this.moves()));
    const { height } = this.figure.layout;
    this.plot.style.height = `${height}px`;
    const high = (this.scale ?? 1) * height;
    this.room = resized ? high : Math.max(this.room, high); // what stands below keeps its place under a hand
    this.plot.style.marginBottom = this.scale ? `${this.room - height}px` : "";
    this.plot.classList.toggle("fitted", this.figure !== this.whole);
    this.plot.classList.toggle("fills", Boolean(this.data.fills) && !this.scale);
    this.root.closest('[data-testid="stElementContainer"]')?.style.setProperty("--dpviz-high", `${height}px`);
  }

  // A figure with what it still `waits` for, as that was last, where it differs from before by a number that `moved`
  // alone. One such figure stays one.
  complete(figure, waits, moved) {
    if (!waits) return (this.last = figure);
    if (!moved) return figure;
    if (this.completedOf !== figure || this.completedFrom !== this.last) {
      this.completion = withEarlier(figure, this.last);
      [this.completedOf, this.completedFrom] = [figure, this.last];
    }
    return this.completion;
  }

  fitting(figure) {
    return fitted(figure, this.plot, this.height);
  }

  // Presented, all of it is larger.
  enlarge() {
    const scale = this.scale ?? 1;
    const grown = { transform: `scale(${scale})`, width: `${100 / scale}%` };
    Object.assign(this.plot.style, { transformOrigin: "0 0", ...(scale > 1 ? grown : { transform: "", width: "" }) });
    this.plot.style.setProperty("--dpviz-scale", scale);
  }

  resize() {
    const width = Math.round(this.plot.clientWidth);
    const given = `${Math.round(this.root.clientWidth)} ${window.innerHeight}`;
    if (!this.shown || !width || (width === this.width && given === this.given)) return;
    this.another ||= given !== this.given; // else it is drawn at another scale alone, and keeps its room
    Object.assign(this, { width, given });
    clearTimeout(this.resizing);
    this.resizing = setTimeout(() => this.resized(), 60);
  }

  // To another size; drawn anew where names go below the plot or come back.
  resized() {
    if (!this.plot.isConnected || !this.shown) return;
    this.fitIn({ resized: this.another });
    this.another = false;
    if (this.figure === this.shown) this.plotter.resize().then(() => this.grips.stand());
    else this.again({ own: true });
  }

  // --- what stands on it --------------------------------------------------------------------------------------------

  // Draw what the server says; the last of it always. By hand where that can be, and then Plotly may wait: it takes
  // long, and only who looks closely needs what it knows of each point.
  settle() {
    this.wanted = this.figure;
    this.plot.dataset.state = "drawing";
    clearTimeout(this.waits);
    if (this.answered()) this.waits = setTimeout(() => this.plotted(), PATIENCE[this.data.slow_parts ? "slow" : "usual"]);
    else this.plotted();
  }

  plotted() {
    clearTimeout(this.waits);
    this.waits = null;
    this.plotter.inTurn(() => this.draw());
  }

  // The same figure otherwise: on its own axes, or with other curves hidden.
  again({ own = false } = {}) {
    if (!this.shown) return;
    if (own) this.hand.axes = null;
    this.stale = true;
    this.settle();
  }

  // Whether the answer is on the chart already, drawn by hand: not where a mouse looks closely.
  answered() {
    const figure = this.wanted;
    const looked = this.plot.matches(":hover") && !this.grips.held;
    if (!this.hand || this.stale || looked || !this.follows()) return false;
    if (!this.hand.answer({ ...this.data.words, figure })) return false;
    this.name(figure);
    this.stands(figure);
    return true;
  }

  async draw() {
    if (!this.wanted) return; // forgotten meanwhile
    if ((this.shown === this.wanted && !this.stale && !this.hand.away) || !this.plot.isConnected) {
      this.plot.dataset.state = "drawn";
      return;
    }
    const figure = this.wanted;
    this.stale = false;
    if (!this.hand) this.begin();
    const axes = this.follows() ? this.hand.axesFor(figure.layout) : axesOf(figure.layout);
    await this.plotter.draw(placed(figure, axes, this.names.hidden));
    this.hand.rest(axes);
    this.dress(figure);
    this.hand.say(this.data.words ?? {}); // Streamlit draws no words again that it drew before
    this.stands(figure);
    this.offerFit();
    if (!this.movement.last && !this.data.slow_parts) hear(this.data.words?.headline ?? "");
    if (this.wanted === figure) this.plot.dataset.state = "drawn";
    counted(this.plot, "drawn");
    if (this.movement.last) this.movement.now(); // a hand has moved on meanwhile
  }

  // Below a narrow plot.
  name(figure) {
    this.chips.show(figure, { follows: this.moves(), whole: !this.movement.last && !this.data.slow_parts });
  }

  begin() {
    this.plot.replaceChildren(); // of an error
    this.hand = new Hand(this.plot, this.plotter, { hidden: this.names.hidden, moving: () => this.movement.last, drew: () => this.grips.stand() });
  }

  // What stands around the drawing.
  dress(figure) {
    // A reader has the chart's sentence and its table: ticks and names without their places say nothing.
    for (const drawing of this.plot.querySelectorAll(".main-svg")) drawing.setAttribute("aria-hidden", "true");
    this.name(figure);
    this.plot.classList.toggle("narrow", isNarrow(this.plot));
    this.plot.classList.toggle("tall", figure.layout.height > 0.6 * window.innerHeight);
    this.plot.style.setProperty("--dpviz-print", Math.min(1, PAPER / this.plot.clientWidth));
  }

  // This answer is on the chart.
  stands(figure) {
    if (!this.movement.last) this.movement.fade(false);
    if (figure !== this.shown) counted(this.plot, "answers");
    this.shown = figure;
    this.grip(figure);
    this.tokens = this.data.frames;
    this.seen = this.data.seen;
    this.slow.ask(this.data.at, this.data.slow_parts);
    if (!this.movement.last && !this.data.slow_parts) this.frames.go();
  }

  // Whether this answer differs from the last one by a number that a hand moved, at most: then a token is the same.
  moves() {
    const before = Object.values(this.tokens ?? {});
    return Object.values(this.data.frames).some((token) => before.includes(token));
  }

  // Whether the axes of before may hold for it.
  follows() {
    const before = Object.values(this.tokens ?? {});
    // Nothing moved but a slow part that came: axes that were the figure's own stay its own.
    const came = this.shown && this.seen === this.data.seen && Object.values(this.data.frames).every((token) => before.includes(token));
    return !(came && this.hand.home(this.shown.layout)) && this.moves();
  }

  offerFit() {
    this.fit.hidden = !this.shown || this.hand.home(this.shown.layout);
  }

  // Says what is wrong in the chart's place. The next answer is drawn from the start.
  failed(error) {
    this.forget();
    this.plot.textContent = error.message;
    this.plot.dataset.state = "failed";
  }

  forget() {
    this.plotter.purge();
    this.hand?.end();
    this.source = this.wanted = this.shown = this.hand = this.tokens = this.last = null;
    this.fit.hidden = true;
  }

  // --- a control moves ------------------------------------------------------------------------------------------------

  // A number's entry: of one that moves this chart, it tells the server itself, and only what shows the answer runs.
  entered(event) {
    const { field, ...entry } = event.detail;
    if (!this.tell || !this.frames.has(field)) return;
    event.preventDefault();
    this.entries = { ...this.entries, [field]: entry };
    if (!link.away) this.tell.entries(this.entries); // else the number says it again
  }

  moved(move) {
    if (!this.frames.has(move.field) || !this.shown || !this.movement.step(move)) return;
    this.slow.stop(); // another answer comes
    clearTimeout(this.waits);
  }

  grip(figure) {
    const fields = this.pulls.fields.filter((field) => this.frames.has(field));
    this.grips.show(figure, this.hand, fields);
  }

  showFrame(frame, field) {
    if (!this.hand) return false;
    const figure = this.fitting(this.complete(frame.figure, frame.waits, true));
    const shown = this.hand.show({ ...frame, figure }, () => this.frames.axes(field, (other) => this.fitting(other)));
    this.grip(figure);
    this.chips.show(figure, { follows: true, whole: false });
    window.dispatchEvent(new CustomEvent("dpviz-captions", { detail: frame.captions ?? {} }));
    window.dispatchEvent(new CustomEvent("dpviz-pictures", { detail: frame.pictures ?? {} }));
    return shown;
  }

  // --- coming and going -----------------------------------------------------------------------------------------------

  come(signal) {
    listen();
    window.addEventListener("dpviz-move", ({ detail }) => this.moved(detail), { signal });
    window.addEventListener("dpviz-enter", (event) => this.entered(event), { signal });
    window.addEventListener("dpviz-save", ({ detail }) => detail.chart === this.data.key && this.plotter.save(detail.format), { signal });
    window.addEventListener("dpviz-follow", ({ detail }) => this.follow(detail), { signal });
    this.grips.come(signal);
    this.sentence.come(signal);
    const sizes = new ResizeObserver(() => this.resize());
    sizes.observe(this.plot);
    window.addEventListener("resize", () => this.resize(), { signal });
    signal.addEventListener("abort", () => sizes.disconnect());
  }

  gone() {
    setTimeout(() => this.here || this.end()); // it may come back at once
  }

  end() {
    clearTimeout(this.waits);
    this.grips.gone();
    this.explanation.end();
    this.pulls.end();
    this.movement.end();
    this.frames.stop();
    this.slow.stop();
    this.forget();
  }
}

export default mounting("dpvizChart", MountedChart);

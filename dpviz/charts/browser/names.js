// Names at the lines' ends: a click hides a curve and brings it back, and under the pointer a name brings its curve forward.

import { made } from "./dom.js";
import { nodes } from "./over.js";

const [EXPONENT, JOINER] = [/\de-(?=\d)/g, "\u2060"]; // a line may not end within 1e-5

export class Names {
  constructor(plot, changed) {
    this.plot = plot;
    this.changed = changed;
    this.hidden = new Set(); // names of lines
    plot.addEventListener("click", (event) => {
      const { line } = this.under(event.target);
      if (line !== undefined) this.toggle(line);
    });
    plot.addEventListener("mouseover", (event) => this.back(this.under(event.target)));
    plot.addEventListener("mouseleave", () => this.back());
  }

  toggle(line) {
    if (!this.hidden.delete(line)) this.hidden.add(line);
    this.back();
    this.changed();
  }

  // The name at a line's end to which an element belongs, and the line's own.
  under(element) {
    const name = element.closest?.(".annotation");
    const { annotations = [], meta } = this.plot.layout ?? {};
    const index = Number(name?.dataset.index ?? -1);
    if (annotations[index]?.name !== "end") return {};
    const before = annotations.slice(0, index).filter((note) => note.name === "end").length;
    return { name, line: meta?.ends?.[before]?.line };
  }

  // All other curves step back, where there is one in front of them.
  back({ line } = {}) {
    if (this.hidden.has(line)) line = undefined;
    if (line === this.forward) return;
    this.forward = line;
    for (const group of this.plot.querySelectorAll(".scatterlayer .trace")) {
      const own = group.__data__?.[0]?.trace?.name;
      group.classList.toggle("dpviz-back", line !== undefined && own !== line);
    }
  }
}

// The names below the plot of a narrow chart; a figure of a wide chart has none. A tap hides a
// curve and brings it back, as a click on a name does. Their room stays, or all that stands below would move under the
// finger: a figure that is not the whole answer yet lacks the names of slow curves, and a shorter value needs fewer lines.
export class Chips {
  constructor(plot, names) {
    Object.assign(this, { plot, names });
    this.list = made("ul", "dpviz-chips", plot.parentElement);
  }

  // `follows`: whether a hand moved from the figure before to this one; `whole`: whether all its curves are there.
  show({ layout }, { follows, whole }) {
    const width = this.plot.clientWidth;
    this.other ||= !follows || width !== this.width;
    this.width = width;
    const anew = this.other && whole;
    if (anew) {
      this.other = false;
      this.list.style.minHeight = "";
    }
    if (this.fill(layout.meta?.chips ?? []) || anew) this.list.style.minHeight = `${this.list.offsetHeight}px`;
  }

  // Whether it says something else than before.
  fill(ends) {
    const content = JSON.stringify([ends.map((end) => end.text), [...this.names.hidden]]);
    if (content === this.content) return false;
    this.content = content;
    this.list.replaceChildren();
    for (const { line, text } of ends) {
      const chip = made("button", "", made("li", "", this.list), { type: "button" });
      chip.setAttribute("aria-pressed", !this.names.hidden.has(line));
      chip.addEventListener("click", () => this.names.toggle(line));
      chip.append(...nodes(text.replace(EXPONENT, `$&${JOINER}`)));
      chip.style.borderColor = chip.querySelector("[style*='color']").style.color; // of the name
    }
    return true;
  }
}

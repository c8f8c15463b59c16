// Buttons that save charts as images.

import { made, mounting } from "./dom.js";

const KINDS = [
  { format: "svg", name: "SVG", title: "The chart as a vector image, with its headline and all settings" },
  { format: "png", name: "PNG (2×)", title: "The chart as an image of twice the screen's pixels, with its headline and all settings" },
];

class Images {
  constructor(parent) {
    const root = made("div", "dpviz-images", parent);
    for (const { format, name, title } of KINDS) {
      const button = made("button", "", root, { type: "button", textContent: name, title });
      button.addEventListener("click", () => {
        for (const chart of this.charts) window.dispatchEvent(new CustomEvent("dpviz-save", { detail: { chart, format } }));
      });
    }
  }

  adopt({ data }) {
    this.charts = data.charts;
  }

  come() {}
}

export default mounting("dpvizImages", Images);

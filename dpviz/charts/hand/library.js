// Plotly: fetched once a page, and how a chart asks it to look and behave.

import { camera } from "./image.js";
import { isNarrow } from "./narrow.js";

let loading = null;
export function plotly() {
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

// The page's type and colours for a layout.
export function themed(plot, layout) {
  const style = getComputedStyle(plot);
  const of = (name, usual) => style.getPropertyValue(name).trim() || usual;
  const color = of("--st-text-color", "#31333f");
  const ground = of("--st-background-color", "#ffffff");
  const font = { ...layout.font, family: of("--st-font", style.fontFamily), color };
  const hoverlabel = { ...layout.hoverlabel, bgcolor: ground, bordercolor: "rgba(128,128,128,0.4)" };
  hoverlabel.font = { ...layout.hoverlabel?.font, color, family: font.family };
  return { ...layout, font, hoverlabel };
}

// With a camera of our own in place of Plotly's, and Fit in place of its way back. `told`: what a picture is to hold.
export function configured(library, plot, config, told) {
  const { toImageButtonOptions: options = { format: "png" }, modeBarButtonsToRemove: usual = [], ...rest } = config;
  const removed = [...usual, "toImage", "resetScale2d", ...(isNarrow(plot) ? ["zoom2d"] : [])]; // a finger scrolls
  const picture = () => ({ ...told(), family: themed(plot, {}).font.family });
  const added = [camera(library, picture, options)];
  return { ...rest, responsive: false, doubleClick: false, modeBarButtonsToRemove: removed, modeBarButtonsToAdd: added };
}

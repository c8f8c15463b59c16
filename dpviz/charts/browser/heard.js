// What a screen reader says of the headline. The page's own element is no live region: its words change with every frame
// while a hand moves, and Streamlit puts another in its place with every answer.

import { made } from "./dom.js";

let region = null;
let told = "";

// There from the start: only what changes in a region is read out.
export function listen() {
  if (region?.isConnected) return;
  region = made("div", "dpviz-heard", document.body);
  region.setAttribute("role", "status");
}

// The words of the headline now, as HTML; what was said already is not said again.
export function hear(headline) {
  const words = new DOMParser().parseFromString(headline, "text/html").body.textContent;
  if (told && words !== told) region.textContent = words; // the first is read with the page
  told = words;
}

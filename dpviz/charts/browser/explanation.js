// What a curve is, told to a mouse that rests on it.

import { made } from "./dom.js";

const REST = 700; // ms that it rests
const REACH = 6; // pixels from a curve

export class Explanation {
  // `place()`: the plot's box and scales (`Hand.place`); null where there are none.
  constructor(plot, place) {
    Object.assign(this, { plot, place });
    plot.addEventListener("pointermove", (event) => this.later(event));
    for (const kind of ["pointerleave", "pointerdown"]) plot.addEventListener(kind, () => this.end());
  }

  later(event) {
    const { left, top } = this.plot.getBoundingClientRect();
    const place = `${event.clientX} ${event.clientY}`;
    if (place === this.rests) return; // browsers tell of a mouse that rests while things move under it
    this.end();
    if (event.pointerType !== "mouse" || event.buttons) return;
    this.rests = place;
    const pointer = { x: event.clientX - left, y: event.clientY - top };
    this.timer = setTimeout(() => this.tell(pointer), REST);
  }

  end() {
    clearTimeout(this.timer);
    this.tip?.remove();
    this.tip = this.rests = null;
  }

  // In the corner of the plot that is farthest from the pointer: the values there stand beside it.
  tell(pointer) {
    const place = this.place();
    const curve = place && nearest(this.plot.data ?? [], pointer, place);
    if (!curve) return;
    const { left, top, width, height } = place.area;
    this.tip = made("div", "dpviz-explanation", this.plot);
    made("b", "", this.tip, { textContent: curve.name });
    this.tip.append(` ${curve.meta.about}`);
    const [right, low] = [pointer.x < left + width / 2, pointer.y < top + height / 2];
    const { offsetWidth, offsetHeight } = this.tip;
    this.tip.style.left = `${right ? left + width - offsetWidth - 4 : left + 4}px`;
    this.tip.style.top = `${low ? top + height - offsetHeight - 4 : top + 4}px`;
  }
}

// The curve with words of its own that is nearest to a pointer, and near enough.
function nearest(traces, pointer, { area, scales }) {
  let [found, least] = [null, REACH];
  for (const trace of traces) {
    if (!trace.meta?.about || trace.hoverinfo === "skip") continue; // what is hidden, and the ground of a band
    const y = heightAt(trace, pointer.x, area, scales);
    const far = Math.abs(y - pointer.y);
    if (far <= least) [found, least] = [trace, far];
  }
  return found;
}

// Pixels from the top of the chart to a curve, above or below this place along it; NaN where it has none.
function heightAt({ x: xs, y: ys }, at, area, scales) {
  const across = (k) => area.left + scales.x.of(xs[k]) * area.width;
  const down = (k) => area.top + (1 - scales.y.of(ys[k])) * area.height;
  for (let k = 1; k < xs.length; k++) {
    if (ys[k - 1] === null || ys[k] === null || across(k - 1) > at || across(k) < at) continue;
    const share = (at - across(k - 1)) / (across(k) - across(k - 1) || 1);
    return down(k - 1) + share * (down(k) - down(k - 1));
  }
  return NaN;
}

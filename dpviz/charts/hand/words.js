// Words and guides over a chart while the hand moves: Plotly's own are hidden where a frame says other ones.

const PITCH = 1.3; // of a line's size from it to the next, as Plotly has it
const NS = "http://www.w3.org/2000/svg";

export function svg(kind, attributes, parent) {
  const element = document.createElementNS(NS, kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  parent?.append(element);
  return element;
}

export class Words {
  // Over `plot`, on which Plotly drew `layout`.
  constructor(plot, layout) {
    const main = plot.querySelector(".main-svg");
    this.over = svg("svg", { class: "dpviz-over", width: main.getAttribute("width"), height: main.getAttribute("height") }, null);
    plot.append(this.over);
    this.plot = plot;
    this.family = plot._fullLayout.font.family;
    this.drawn = { shapes: told(layout.shapes), annotations: told(layout.annotations) };
    this.kept = new Map(); // what it drew: a text or a guide, by what and where it is in the list
    const found = (selector) => {
      const by = {};
      for (const element of plot.querySelectorAll(`${selector}[data-index]`)) (by[element.dataset.index] ??= []).push(element);
      return by;
    };
    this.elements = { shapes: found(".shapelayer path"), annotations: found(".annotation") };
  }

  remove() {
    this.over.remove();
    for (const kind of Object.values(this.elements)) {
      for (const hidden of Object.values(kind).flat()) hidden.classList.remove("dpviz-under");
    }
  }

  // Shows what a layout says; `area`: the plot's box in pixels, `scales`: the axes, `held`: whether Plotly drew these.
  show(layout, scales, area, held) {
    this.held = held;
    const across = (reference, x) => area.left + area.width * (reference === "paper" ? x : scales.x.ofRaw(x));
    const down = (reference, y) => area.top + area.height * (1 - (reference === "paper" ? y : scales.y.ofRaw(y)));
    this.each("shapes", layout.shapes, (shape) => shape.type === "line" && guide(shape, across, down));
    this.each("annotations", layout.annotations, (note) => word(note, across, down));
  }

  each(kind, list, what) {
    const now = told(list);
    const drawn = this.drawn[kind];
    for (let i = 0; i < Math.max(now.length, drawn.length); i++) {
      const same = now[i] === drawn[i] && (this.held || (list[i]?.xref === "paper" && list[i].yref === "paper"));
      for (const element of this.elements[kind][i] ?? []) element.classList.toggle("dpviz-under", !same);
      const seen = !same && i < now.length && list[i].visible !== false && list[i].opacity !== 0;
      this.put(`${kind} ${i}`, seen && what(list[i]));
    }
  }

  put(name, wanted) {
    let there = this.kept.get(name);
    if (!wanted) {
      there?.group.remove();
      this.kept.delete(name);
      return;
    }
    if (!there) {
      there = { group: svg("g", {}, this.over) };
      this.kept.set(name, there);
    }
    if (there.line !== wanted.line?.d) {
      there.line = wanted.line?.d;
      there.path?.remove();
      there.path = wanted.line && svg("path", wanted.line, there.group);
    }
    if (!wanted.text) return;
    if (there.text !== wanted.text) {
      there.text = wanted.text;
      there.words?.remove();
      there.words = written(wanted, this.family, there.group);
    }
    for (const key of ["x", "y", "opacity"]) there.words.setAttribute(key, wanted[key]);
    for (const below of there.words.querySelectorAll("[dy]")) below.setAttribute("x", wanted.x);
  }
}

function told(list) {
  return (list ?? []).map((one) => JSON.stringify(one));
}

function guide({ xref, yref, x0, x1, y0, y1, line }, across, down) {
  const d = `M${across(xref, x0)},${down(yref, y0)}L${across(xref, x1)},${down(yref, y1)}`;
  const dashes = { dot: "2,3", dash: "6,4" }[line.dash] ?? "none";
  return { line: { d, stroke: line.color, "stroke-width": line.width, "stroke-dasharray": dashes } };
}

function word(note, across, down) {
  const x = across(note.xref, note.x) + (note.xshift ?? 0);
  const y = down(note.yref, note.y) - (note.yshift ?? 0);
  const size = note.font?.size ?? 12;
  const [right, low] = note.showarrow ? [note.ax, note.ay] : [0, 0];
  const pad = { left: 1, right: -1 }[note.xanchor] ?? 0;
  const lift = { top: 0.95, bottom: -0.25 }[note.yanchor] ?? 0.35;
  const lines = note.text.split("<br>").length - 1;
  const told = {
    text: note.text,
    x: x + right + pad * (note.borderpad ?? 1),
    y: y + low + lift * size - (lines * PITCH * size) / 2,
    opacity: note.opacity ?? 1,
    anchor: { left: "start", right: "end" }[note.xanchor] ?? "middle",
    size,
  };
  const hair = { d: `M${x},${y}L${x + right},${y + low}`, stroke: note.arrowcolor, "stroke-width": 1 };
  return note.showarrow ? { ...told, line: hair } : told;
}

function written({ text, anchor, size }, family, parent) {
  const element = svg("text", { "text-anchor": anchor, "font-size": size, "font-family": family }, parent);
  element.style.whiteSpace = "pre";
  return write(element, text);
}

// A headline's words, and how many characters they are: the place is fixed, the type follows.
export function head(shown, headline) {
  shown.innerHTML = headline;
  shown.style.setProperty("--n", shown.textContent.length);
}

// Plotly's pseudo-HTML into a text element that is empty.
export function write(element, text) {
  for (const { told: said, bold, color, sub, size, breaks } of runs(text)) {
    const type = { ...(bold && { "font-weight": "bold" }), ...(sub && { "baseline-shift": "sub", "font-size": "70%" }) };
    const line = breaks ? svg("tspan", { x: 0, dy: `${PITCH}em` }, element) : null; // of the text's size, not of the run's
    const run = svg("tspan", { ...type, ...(size && { "font-size": size }) }, line ?? element);
    if (color) run.style.setProperty("fill", color, "important");
    run.textContent = said;
  }
  return element;
}

// Plotly's pseudo-HTML as runs of text.
export function runs(words) {
  const found = [];
  const state = { bold: 0, sub: 0, styles: [], breaks: false };
  for (const part of words.split(/(<[^>]*>)/)) {
    if (part === "<b>") state.bold += 1;
    else if (part === "</b>") state.bold -= 1;
    else if (part === "<sub>") state.sub += 1;
    else if (part === "</sub>") state.sub -= 1;
    else if (part === "<br>") state.breaks = true;
    else if (part.startsWith("<span")) {
      const says = (key) => new RegExp(`${key}:\\s*([^;'"]+)`).exec(part)?.[1];
      const { color, size } = state.styles.at(-1) ?? {};
      state.styles.push({ color: says("color") ?? color, size: says("font-size") ?? size });
    } else if (part === "</span>") state.styles.pop();
    else if (part && !part.startsWith("<")) {
      found.push({ told: plain(part), bold: state.bold > 0, sub: state.sub > 0, breaks: state.breaks, ...state.styles.at(-1) });
      state.breaks = false;
    }
  }
  return found;
}

function plain(text) {
  const entities = { lt: "<", gt: ">", amp: "&", quot: '"', "#39": "'", nbsp: "\u00a0" };
  return text.replace(/&(lt|gt|amp|quot|#39|nbsp);/g, (_, name) => entities[name]);
}

// The names at lines' ends on other axes than the figure's own, as `charts.ends` places them on those.

export const GAP = 17; // pixels from one name to the next
const AIR = 4; // pixels from the plot's edges
const LEAD = 16; // pixels from a line's end to its name
const RIGHT = 0.99; // of the plot's width: from there on a line ends at its edge

// `lineEnds`: the figure's `meta.ends`; `inner`: the plot's height in pixels.
// Returned in the order of `lineEnds`, as annotations.
export function ends(lineEnds, { own, held }, inner) {
  const names = lineEnds.map((end) => {
    const reach = inner * (1 - held.y.of(end.y));
    const last = own.x.of(end.x) >= RIGHT; // beyond it there is nothing that the name could cover
    return { ...end, reach, last, across: held.x.of(end.x), wanted: Math.min(Math.max(reach, 0), inner) - end.rise };
  });
  const order = [...names].sort((a, b) => Math.max(a.reach, 0) - Math.max(b.reach, 0) || b.y - a.y);
  for (const chosen of [order.filter((end) => end.last), ...meeting(order.filter((end) => !end.last))]) {
    const places = pushedApart(chosen.map((end) => end.wanted), GAP, AIR, inner - AIR);
    chosen.forEach((end, i) => (end.place = places[i]));
  }
  return names.map((end) => note(end, held, inner));
}

// Names inside the plot that lie over each other across where that is narrow, each group in the order given.
function meeting(names) {
  const spans = names.map((end, rank) => {
    const left = end.across < end.room ? end.across : end.across - end.span;
    return { end, rank, left, right: left + end.span };
  });
  const groups = [];
  let reached = -Infinity;
  for (const span of spans.sort((a, b) => a.left - b.left || a.right - b.right)) {
    if (span.left > reached) groups.push([]);
    groups.at(-1).push(span);
    reached = Math.max(reached, span.right);
  }
  return groups.map((group) => group.sort((a, b) => a.rank - b.rank).map(({ end }) => end));
}

function note({ text, x, y, size, room, hair, reach, last, across, place }, held, inner) {
  const arrow = reach < -0.5 ? "↑ " : reach > inner + 0.5 ? "↓ " : "";
  const edge = last && across >= RIGHT;
  return {
    name: "end",
    text: arrow ? text.replace(/>([^<])/, `>${arrow}$1`) : text,
    font: { size },
    x: edge ? 1 : held.x.log ? Math.log10(x) : x,
    xref: edge ? "paper" : "x",
    xanchor: last || across < room ? "left" : "right",
    align: "left",
    yanchor: "middle",
    borderpad: 2,
    captureevents: true,
    visible: across <= 1 + 1e-9,
    ...lead({ y, hair, reach, last, place }, held, inner),
  };
}

function lead({ y, hair, reach, last, place }, held, inner) {
  if (reach < 0 || reach > inner) return { showarrow: false, yref: "paper", y: 1 - place / inner, xshift: last ? LEAD - 2 : 0 };
  const at = { yref: "y", y: held.y.log ? Math.log10(y) : y };
  if (!last) return { ...at, showarrow: false, yshift: reach - place };
  return { ...at, showarrow: true, ax: LEAD, ay: place - reach, arrowhead: 0, arrowwidth: 1, arrowcolor: hair, standoff: 3 };
}

// As `charts.labels.pushed_apart`: nearest to where they want to be, in order, at least `gap` apart.
function pushedApart(wanted, gap, low, high) {
  const count = wanted.length;
  const least = Math.min(gap, (high - low) / Math.max(count - 1, 1));
  const blocks = [];
  wanted.forEach((place, rank) => {
    let [total, size] = [place - rank * least, 1];
    while (blocks.length && blocks.at(-1)[0] / blocks.at(-1)[1] >= total / size) {
      const [before, many] = blocks.pop();
      [total, size] = [total + before, size + many];
    }
    blocks.push([total, size]);
  });
  const top = high - least * (count - 1);
  const placed = blocks.flatMap(([total, size]) => Array(size).fill(Math.min(Math.max(total / size, low), top)));
  return placed.map((place, rank) => place + rank * least);
}

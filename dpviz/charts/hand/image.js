// The image of a chart, to be kept or printed elsewhere: with the headline above it and all settings below.

const WIDE = 860; // pixels, at least
const HEAD = { size: 15, letter: 7.5, line: 20 };
const FOOT = { size: 11, letter: 5.7, line: 15 };
const SIDE = 10; // pixels beside the words
const [INK, GROUND] = ["#22211f", "#ffffff"]; // on paper, whatever the page's theme

// The button of Plotly's bar in place of its own, which knows the chart alone. `told()`: figure, headline, caption and
// the family of the page's type.
export function camera(library, told, options) {
  return {
    name: "dpvizImage",
    title: `Download the chart with its settings as ${options.format.toUpperCase()}`,
    icon: library.Icons.camera,
    click: (plot) => {
      const figure = pictured(told(), plot.clientWidth);
      const { width, height } = figure.layout;
      return library.downloadImage(figure, { ...options, width, height });
    },
  };
}

export function pictured({ figure, headline = "", caption = "", family }, shown) {
  const width = Math.max(shown, WIDE);
  const head = lines(headline, (width - 2 * SIDE) / HEAD.letter);
  const foot = lines(caption.replace(/[<>]/g, (mark) => ({ "<": "&lt;", ">": "&gt;" })[mark]), (width - 2 * SIDE) / FOOT.letter);
  const above = head.length ? head.length * HEAD.line + SIDE : 0;
  const below = foot.length ? foot.length * FOOT.line + SIDE : 0;
  const { margin, height, annotations = [], font, ...rest } = onPaper(figure.layout);
  const beside = { xref: "paper", x: 0, xanchor: "left", xshift: SIDE - margin.l, yref: "paper", align: "left", showarrow: false };
  const words = [
    { ...beside, text: head.join("<br>"), font: { size: HEAD.size }, y: 1, yanchor: "top", yshift: margin.t + above - SIDE / 2, borderpad: 0 },
    { ...beside, text: foot.join("<br>"), font: { size: FOOT.size }, y: 0, yanchor: "top", yshift: -margin.b - SIDE / 2, borderpad: 0 },
  ].filter((note) => note.text);
  const layout = {
    ...rest,
    width,
    height: height + above + below,
    margin: { ...margin, t: margin.t + above, b: margin.b + below },
    annotations: [...annotations, ...words],
    font: { ...font, family, color: INK },
    paper_bgcolor: GROUND,
    plot_bgcolor: GROUND,
  };
  return { data: figure.data, layout, config: {} };
}

// Words have a colour for each theme; paper is light.
function onPaper(layout) {
  return JSON.parse(JSON.stringify(layout).replace(/light-dark\(([^,()]+),[^()]*\)/g, "$1"));
}

// Plotly's pseudo-HTML in lines of at most so many letters, broken between words.
function lines(html, most) {
  const letters = (text) => text.replace(/<[^>]*>/g, "").replace(/&[^;\s]+;/g, "x").length;
  const found = [];
  for (const word of html.replace(/<(?!\/?(b|sub|sup|i)>)[^>]*>/g, "").split(" ").filter(Boolean)) {
    const longer = found.length ? `${found.at(-1)} ${word}` : word;
    if (found.length && letters(longer) <= most) found[found.length - 1] = longer;
    else found.push(word);
  }
  return found;
}

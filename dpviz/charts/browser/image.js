// The image of a chart, to be kept or printed elsewhere: with the headline above it and all settings below. The page's
// type travels in it: a picture does not see the page's fonts, and all widths were measured with them.

const WIDE = 860; // pixels, at least
const HEAD = { size: 15, line: 20 };
const FOOT = { size: 11, line: 15 };
const SIDE = 10; // pixels beside the words
const [INK, GROUND] = ["#22211f", "#ffffff"]; // on paper, whatever the page's theme

// The button of Plotly's bar in place of its own, which knows the chart alone. `content()`: as in `saveImage`.
export function camera(library, content, options) {
  return {
    name: "dpvizImage",
    title: `Download the chart with its settings as ${options.format.toUpperCase()}`,
    icon: library.Icons.camera,
    click: (plot) => saveImage(library, content(), plot.clientWidth, options),
  };
}

// `content`: figure, headline, caption and the family of the page's type; `shown`: the chart's width in pixels.
export async function saveImage(library, content, shown, { format, filename, scale }) {
  const figure = pictured(content, shown);
  const { width, height } = figure.layout;
  const address = await library.toImage(figure, { format: "svg", width, height });
  const plain = decodeURIComponent(address.slice(address.indexOf(",") + 1));
  // Where a browser writes a font's name without quotes, as Firefox does, Plotly leaves its stand-in for them.
  const svg = await withFonts(plain.replaceAll("TOBESTRIPPED", "'"), figure.layout.font.family);
  const vector = format === "svg";
  const file = vector ? new Blob([svg], { type: "image/svg+xml" }) : await painted(svg, width, height, scale);
  save(file, `${filename}.${format}`);
}

// An SVG in pixels, `scale` of them for one of the screen's.
async function painted(svg, width, height, scale) {
  const image = Object.assign(new Image(), { src: `data:image/svg+xml,${encodeURIComponent(svg)}` });
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: width * scale, height: height * scale });
  const pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  await new Promise((resolve) => setTimeout(resolve, 100)); // WebKit draws it first before it has the fonts in it
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export function pictured({ figure, headline = "", caption = "", family }, shown) {
  const width = Math.max(shown, WIDE);
  const escaped = caption.replace(/[<>]/g, (mark) => ({ "<": "&lt;", ">": "&gt;" })[mark]);
  const [head, foot] = [
    [headline, HEAD],
    [escaped, FOOT],
  ].map(([text, { size }]) => inLines(text, width - 2 * SIDE, size, family));
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

// Plotly's pseudo-HTML in lines that are no wider than that, broken between words; measured as if all of it were bold.
function inLines(html, width, size, family) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `bold ${size}px ${family}`;
  const wide = (text) => pen.measureText(text.replace(/<[^>]*>/g, "").replace(/&[^;\s]+;/g, "x")).width;
  const broken = [];
  for (const word of html.replace(/<(?!\/?(b|sub|sup|i)>)[^>]*>/g, "").split(" ").filter(Boolean)) {
    const longer = broken.length ? `${broken.at(-1)} ${word}` : word;
    if (broken.length && wide(longer) <= width) broken[broken.length - 1] = longer;
    else broken.push(word);
  }
  return broken;
}

// --- the page's fonts: a picture that is drawn from SVG sees no other ---------------------------------------------------

const bySource = new Map(); // address of a font's file → its data address

// `svg` with the page's own fonts of this family in it; without where the family is the system's.
async function withFonts(svg, family) {
  const names = family.split(",").map(plain);
  const used = rules().filter(
    ({ face }) => names.includes(plain(face("font-family"))) && (face("font-style") !== "italic" || /italic/.test(svg)),
  );
  const faces = await Promise.all(used.map(embedded));
  return faces.length ? svg.replace(/<svg[^>]*>/, (tag) => `${tag}<style>${faces.join("")}</style>`) : svg;
}

const plain = (name) => name.trim().replace(/^["']|["']$/g, "");

// All @font-face rules of the page, each with the address that its own addresses start from.
function rules() {
  return [...document.styleSheets].flatMap((sheet) => {
    try {
      const base = sheet.href ?? document.baseURI;
      const fonts = [...sheet.cssRules].filter((rule) => rule instanceof CSSFontFaceRule);
      return fonts.map(({ style }) => ({ face: (name) => style.getPropertyValue(name), base })); // Firefox has no other way
    } catch {
      return []; // another site's
    }
  });
}

async function embedded({ face, base }) {
  const source = face("src").match(/url\(["']?([^"')]+)["']?\)/)[1];
  const address = new URL(source, base).href;
  if (!bySource.has(address)) bySource.set(address, await dataAddress(address));
  const descriptors = ["font-family", "font-style", "font-weight"].filter(face);
  const values = descriptors.map((name) => `${name}:${face(name).replaceAll('"', "'")}`);
  return `@font-face{${values.join(";")};src:url(${bySource.get(address)})}`;
}

async function dataAddress(address) {
  const reply = await fetch(address);
  if (!reply.ok) throw new Error(`The chart's font could not be loaded (${reply.status}). Reload the page.`);
  const blob = await reply.blob();
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

// The fonts of a page inside a picture: one that is drawn from SVG sees no other.

const bySource = new Map(); // address of a font's file → its data address

// `svg` with the page's own fonts of this family in it; without where the family is the system's.
export async function withFonts(svg, family) {
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

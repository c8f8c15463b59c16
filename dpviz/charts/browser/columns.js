// What comes packed: columns of numbers as base64, and in a page of one file all the rest, compressed.

export async function packed(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
}

// As a script of its own, for one that cannot be imported.
export async function loadPacked(id) {
  const src = URL.createObjectURL(await (await packed(id)).blob());
  const script = document.createElement("script");
  await new Promise((onload, onerror) => document.head.append(Object.assign(script, { src, onload, onerror })));
}

const KINDS = { u1: Uint8Array, u2: Uint16Array, f4: Float32Array, f8: Float64Array };

export function unpacked(figure, columns) {
  const byName = new Map();
  const column = (name) => {
    if (!byName.has(name)) {
      const bytes = Uint8Array.from(atob(columns[name]), (c) => c.charCodeAt(0));
      byName.set(name, new KINDS[name.slice(0, 2)](bytes.buffer));
    }
    return byName.get(name);
  };
  const data = figure.data.map((trace) => {
    const own = { ...trace };
    for (const key of ["x", "y", "customdata"]) if (own[key]?.column) own[key] = column(own[key].column);
    return own;
  });
  return { data, layout: figure.layout };
}

export function parsed(text) {
  const { figure, columns } = JSON.parse(text);
  return unpacked(figure, columns);
}

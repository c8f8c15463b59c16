// Columns of numbers come as base64.

const KINDS = { u1: Uint8Array, u2: Uint16Array, f4: Float32Array, f8: Float64Array };

export function unpacked(figure, columns) {
  const found = new Map();
  const column = (name) => {
    if (!found.has(name)) {
      const bytes = Uint8Array.from(atob(columns[name]), (c) => c.charCodeAt(0));
      found.set(name, new KINDS[name.slice(0, 2)](bytes.buffer));
    }
    return found.get(name);
  };
  const data = figure.data.map((trace) => {
    const own = { ...trace };
    for (const key of ["x", "y", "customdata"]) if (own[key]?.column) own[key] = column(own[key].column);
    return own;
  });
  return { data, layout: figure.layout };
}

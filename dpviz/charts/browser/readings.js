// What a person may mean by a typed text, each reading with a decimal point and no thousands separators: the same as
// `expression.readings`, with which it shares a table of tests.

const NUMBER = /([.,]*[0-9][0-9.,]*)(e[+-]?[0-9]+|[kMG])?/gi;
const CONVENTIONS = [".,", ",."]; // decimal sign, thousands separator

export function readings(text) {
  const both = CONVENTIONS.map(([decimal, thousands]) => {
    let possible = true;
    const plain = text.replace(NUMBER, (whole, digits, exponent = "") => {
      const [integer, fraction, ...more] = digits.split(decimal);
      const groups = integer.split(thousands);
      const grouped = !exponent && /^[1-9][0-9]{0,2}$/.test(groups[0]) && groups.slice(1).every((group) => /^[0-9]{3}$/.test(group));
      if (more.length || fraction?.includes(thousands) || (groups.length > 1 && !grouped)) possible = false;
      return groups.join("") + (fraction === undefined ? "" : `.${fraction}`) + exponent;
    });
    return possible ? plain : null;
  });
  const possible = [...new Set(both.filter((plain) => plain !== null))];
  return possible.length > 1 ? possible.map(unambiguous) : possible;
}

// "1.000" becomes "1", and "1.024" "1.0240": what no one reads as a thousand.
function unambiguous(plain) {
  return plain.replace(/\b([0-9]+)\.([0-9]{3})(?![0-9])/g, (_, integer, fraction) => {
    const short = fraction.replace(/0+$/, "");
    return short.length === 3 ? `${integer}.${fraction}0` : short ? `${integer}.${short}` : integer;
  });
}

// The number that a text alone writes, without names and fractions; NaN where it writes none or may mean two.
export function numberIn(text) {
  const possible = readings(text);
  const plain = (possible[0] ?? "").replace("−", "-").replaceAll(/[\s_]/g, "");
  return plain && possible.length === 1 ? Number(plain) : NaN;
}

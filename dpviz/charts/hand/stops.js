// A slider's stops: the values that it stands at, their texts, and what lies between two of them.

const FINE = 21; // places that a fine movement could show around one

export class Stops {
  // `texts`: each stop as the server writes it; `whole`: whether only whole numbers will do.
  constructor(texts, whole) {
    this.texts = texts;
    this.whole = whole;
    this.numbers = texts.map(Number);
  }

  get last() {
    return this.texts.length - 1;
  }

  // So many a page key moves.
  get page() {
    return Math.max(1, Math.round(this.texts.length / 10));
  }

  // Where a value stands: between two stops by its logarithm where they are positive. A stop without a number ("best") is
  // the last one, beyond all numbers.
  positionOf(value) {
    const high = Number.isNaN(value) ? -1 : this.numbers.findIndex((stop) => stop >= value);
    if (high < 0) return this.last;
    if (high === 0 || this.numbers[high] === value) return high;
    const [a, b] = [this.numbers[high - 1], this.numbers[high]];
    return high - 1 + (a > 0 ? Math.log(value / a) / Math.log(b / a) : (value - a) / (b - a));
  }

  textAt(position) {
    const low = Math.floor(position);
    if (position - low < 1e-9) return this.texts[low];
    const [a, b] = [this.numbers[low], this.numbers[low + 1]];
    if (Number.isNaN(b)) return this.texts[Math.round(position)];
    const between = a > 0 ? a * (b / a) ** (position - low) : a + (b - a) * (position - low);
    if (this.whole) return String(Math.round(between));
    const digits = Math.max(3, Math.ceil(-Math.log10((b - a) / Math.abs(between || b))) + 2);
    return String(Number(between.toPrecision(Math.min(digits, 9))));
  }

  // What a fine movement could show from here: tenths of the two steps around.
  around(position) {
    if (Number.isInteger(position)) return [];
    const low = Math.floor(position);
    const tenths = Array.from({ length: FINE }, (_, k) => Math.min(low + (k - 5) / 10, this.last));
    return [...new Set(tenths.filter((place) => place >= 0).map((place) => this.textAt(place)))];
  }
}

// A number one unit of its last digit on, `steps` of them.
export function stepped(value, steps, whole) {
  const [mantissa, exponent = "0"] = String(value).split("e");
  const digits = (mantissa.split(".")[1] ?? "").length - Number(exponent);
  const unit = whole ? 1 : 10 ** -Math.max(digits, 0);
  return String(Number((value + steps * unit).toPrecision(12)));
}

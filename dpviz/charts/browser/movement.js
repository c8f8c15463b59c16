// The value under the finger, from a control's first movement until the server has answered its entry. The chart shows
// what is ahead of the server; what belongs to another value fades.

const LEFT = 2000; // ms for which words stay faded where no other chart comes
const NO_ANSWER = "There is no result for this value.";
const UNANSWERED = "data-dpviz-unanswered"; // the value under the hand has none
const COMING = "data-dpviz-coming"; // its frame is on its way

export class Movement {
  // `why`: the element that says what is waited for; `frames`: who is asked; `show(frame, field)` draws one, and returns
  // whether it stands on the chart, or a promise of that.
  constructor(why, frames, show) {
    Object.assign(this, { why, frames, show });
    this.last = null; // the last step of the movement under way, if there is one
  }

  // A control's announcement: see `NumberControl.announce`. Whether it moved or was entered.
  step(move) {
    const { field, phase } = move;
    if (phase === "away") this.frames.away(field);
    else if (phase === "enter") this.frames.rest();
    else this.frames.near(move);
    if (phase === "near" || phase === "away") return false;
    this.last = move;
    this.follow();
    return true;
  }

  // Whether it is ahead of an answer that knows the entries up to `seen`: then another one will come. Else it is over.
  ahead(seen) {
    if (this.last && (this.last.phase !== "enter" || seen < this.last.n)) return true;
    this.last = null;
    return false;
  }

  // Shows the frame of this moment, if it is there, once before the next painting.
  follow() {
    if (this.last) this.next ??= requestAnimationFrame(() => this.now());
  }

  // At once: something else was drawn meanwhile.
  now() {
    cancelAnimationFrame(this.next);
    this.next = null;
    if (!this.last) return this.fade(false);
    const { field, text } = this.last;
    const frame = this.frames.at(field, text);
    const shown = frame?.figure ? this.show(frame, field) : false;
    this.fade(shown !== true, frame === null ? NO_ANSWER : frame?.why);
    if (shown instanceof Promise) shown.then((stands) => stands && this.at(field, text) && this.fade(false));
  }

  // The chart shows something else from now on.
  over() {
    cancelAnimationFrame(this.next);
    this.next = this.last = null;
    this.fade(false);
  }

  // The chart is gone, for a moment where a connection was cut: the words of before fade until another one stands.
  end() {
    cancelAnimationFrame(this.next);
    for (const state of [UNANSWERED, COMING]) document.documentElement.toggleAttribute(state, false);
    if (this.last) setTimeout(() => document.querySelector(".dpviz-chart") ?? this.fade(false), LEFT);
    this.last = null;
  }

  at(field, text) {
    return this.last?.field === field && this.last.text === text;
  }

  // `why` says what the page waits for, where that is more than a moment.
  fade(faded, why = "") {
    const words = faded ? why : "";
    document.documentElement.toggleAttribute("data-dpviz-behind", faded);
    document.documentElement.toggleAttribute(UNANSWERED, words === NO_ANSWER);
    document.documentElement.toggleAttribute(COMING, this.last !== null && this.frames.coming(this.last.field, this.last.text));
    if (this.why.textContent !== words) this.why.textContent = words;
  }
}

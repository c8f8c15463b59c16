// When a control's entry is sent. A movement is sent once the hand rests, and before whatever is done next. A hand that
// holds the thumb rests where the value has a frame: while that is on its way, nothing is sent, and where it turns out that
// the value has no result, not before the hand lets go. The chart stays, for the values that have one.

const REST = 180; // ms without a movement after which it is sent
const HELD_BACK = ["data-dpviz-unanswered", "data-dpviz-coming"]; // see movement.js

let waiting = 0;
function pending(change) {
  waiting += change;
  document.documentElement.toggleAttribute("data-dpviz-pending", waiting > 0);
}

export class Entry {
  // `send` gets {text, exact, n}: see `now`.
  constructor(send) {
    this.send = send;
    this.n = 0; // of the last that was sent: its time, and larger than the one before
    this.timer = null; // a movement that is still to be sent
    this.flush = this.flush.bind(this);
  }

  // Whether the server may not know the last one: it told what it had seen.
  ahead(seen) {
    return seen < this.n || this.timer !== null;
  }

  // `held`: a pointer still holds the thumb.
  later(text, held) {
    this.text = text;
    if (this.timer !== null) clearTimeout(this.timer);
    else {
      pending(1);
      document.addEventListener("pointerdown", this.flush, true); // whatever is clicked next comes after this entry
      document.addEventListener("dpviz-flush", this.flush);
    }
    this.wait(held);
  }

  wait(held) {
    const heldBack = () => held && HELD_BACK.some((state) => document.documentElement.hasAttribute(state));
    this.timer = setTimeout(() => (heldBack() ? this.wait(held) : this.flush()), held ? 2 * REST : REST);
  }

  // `exact`: the slider or a choice wrote the text. What a person typed may have a decimal comma.
  now(text, { exact = true } = {}) {
    this.forget();
    this.n = Math.max(Date.now(), this.n + 1);
    this.last = { text, exact, n: this.n };
    this.send(this.last);
  }

  // The server is back, and may not have heard the last one: it told what it had seen. Where the hand has moved on, the
  // next one comes.
  again(seen) {
    if (seen < this.n && this.timer === null) this.send(this.last);
  }

  // What waits is sent at once.
  flush() {
    if (this.timer !== null) this.now(this.text);
  }

  forget() {
    if (this.timer === null) return;
    clearTimeout(this.timer);
    this.timer = null;
    pending(-1);
    document.removeEventListener("pointerdown", this.flush, true);
    document.removeEventListener("dpviz-flush", this.flush);
  }
}

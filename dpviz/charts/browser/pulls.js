// The settings that are pulled on a chart and in its headline: the control of each hears of it, in sight or not.

import { made } from "./dom.js";
import mountNumber from "./number.js";

export class Pulls {
  constructor(root) {
    this.wrong = made("div", "", root); // of a number that has no control in sight
    this.says = {}; // what each setting's control is to show, by its field
    this.unseen = {}; // controls of those that have none in sight
  }

  adopt(says = {}) {
    this.says = says;
    for (const field of Object.keys(this.unseen)) if (says[field]) this.mount(field);
    document.documentElement.toggleAttribute("data-dpviz-pulls", this.fields.length > 0); // numbers in sentences say so
    this.sayWrong();
  }

  get fields() {
    return Object.keys(this.says);
  }

  // What a hand does with a setting (`NumberControl.pulled`). Returns the text of its control; null where there is none.
  pull(field, what) {
    if (!this.says[field]) return null;
    const detail = { field, pull: what };
    if (!window.dispatchEvent(new CustomEvent("dpviz-pull", { cancelable: true, detail }))) return detail.text;
    const { control } = this.unseen[field] ?? this.mount(field);
    control.pulled(what);
    return control.text.value;
  }

  mount(field) {
    const parent = this.unseen[field]?.parent ?? document.createElement("div"); // of no document
    const unmount = mountNumber({ parentElement: parent, data: this.says[field], setStateValue: () => {} }); // the chart tells
    return (this.unseen[field] = { parent, unmount, control: parent.dpvizNumber });
  }

  // What was wrongly typed over a number whose control is not in sight.
  sayWrong() {
    const seen = (field) => document.querySelector(`.dpviz-number[data-field="${field}"]`)?.offsetParent; // of an open group
    const wrong = Object.values(this.says).find((says) => says.wrong && !seen(says.field))?.wrong;
    const words = wrong ? `${wrong} The last good value is used.` : "";
    this.wrong.className = words && "dpviz-problem";
    if (words) this.wrong.setAttribute("role", "alert");
    else this.wrong.removeAttribute("role");
    if (this.wrong.textContent !== words) this.wrong.textContent = words;
  }

  end() {
    for (const { unmount } of Object.values(this.unseen)) unmount();
    this.unseen = {};
  }
}

// As much of a browser's elements as the controls need: attributes, a style, children, and events.

class Style {
  setProperty(name, value) {
    this[name] = value;
  }
}

export class Element extends EventTarget {
  constructor(kind) {
    super();
    Object.assign(this, { kind, children: [], attributes: {}, style: new Style(), dataset: {}, value: "", textContent: "", isConnected: true });
  }

  append(...children) {
    const elements = children.filter((child) => child instanceof Element); // others are words
    for (const child of elements) child.parentElement = this;
    this.children.push(...elements);
  }

  replaceChildren(...children) {
    this.children = [];
    this.append(...children);
  }

  remove() {
    this.parentElement.children = this.parentElement.children.filter((child) => child !== this);
  }

  setAttribute(name, value) {
    this.attributes[name] = String(value);
  }

  getAttribute(name) {
    return this.attributes[name] ?? null;
  }

  hasAttribute(name) {
    return name in this.attributes;
  }

  removeAttribute(name) {
    delete this.attributes[name];
  }

  toggleAttribute(name, there = !this.hasAttribute(name)) {
    if (there) this.attributes[name] = "";
    else delete this.attributes[name];
  }

  get classList() {
    return { add: (name) => (this.className = `${this.className ?? ""} ${name}`.trim()), toggle: () => {} };
  }

  getBoundingClientRect() {
    return { left: 0, width: 116, top: 0, height: 24 };
  }

  querySelectorAll() {
    return [];
  }

  closest() {
    return null;
  }

  matches() {
    return false;
  }

  focus() {
    document.activeElement = this;
  }

  select() {}

  setPointerCapture() {}

  // All elements below this one, and itself.
  *all() {
    yield this;
    for (const child of this.children) yield* child.all();
  }

  find(test) {
    return [...this.all()].find(test);
  }
}

const USUAL = { button: 0, pointerType: "mouse", shiftKey: false, ctrlKey: false, altKey: false, metaKey: false };

// A key or a pointer, with what else the event says.
export function act(element, type, more = {}) {
  const event = Object.assign(new Event(type, { cancelable: true }), { ...USUAL, ...more });
  element.dispatchEvent(event);
  return event;
}

export function browser() {
  globalThis.document = Object.assign(new EventTarget(), {
    createElement: (kind) => new Element(kind),
    documentElement: new Element("html"),
    body: new Element("body"),
    activeElement: null,
  });
  globalThis.window = new EventTarget();
  globalThis.CustomEvent ??= class extends Event {};
  globalThis.getComputedStyle = () => ({ fontSize: "16px" });
  globalThis.requestAnimationFrame = (draw) => setTimeout(draw);
}

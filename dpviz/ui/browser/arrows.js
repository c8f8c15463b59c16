// A row of buttons with an arrow each: which can be pressed, and what a press asks for.

// `arrows`: [{by, name, path, keys}], the keys where there are any; `step(by)` is called at a press.
export function arrowButtons(arrows, step) {
  return arrows.map(({ by, name, path, keys }) => {
    const title = keys ? `${name} (${keys})` : name;
    const button = Object.assign(document.createElement("button"), { type: "button", title });
    button.setAttribute("aria-label", name);
    if (keys) button.setAttribute("aria-keyshortcuts", keys);
    button.innerHTML = `<svg viewBox="0 0 20 20" aria-hidden="true"><path d="${path}"/></svg>`;
    button.addEventListener("click", () => step(by));
    return button;
  });
}

// `room`: for each button whether, or how often, it can be pressed. One that cannot keeps the focus.
export function allow(buttons, room) {
  buttons.forEach((button, k) => {
    button.toggleAttribute("data-none", !room[k]);
    button.setAttribute("aria-disabled", String(!room[k]));
  });
}

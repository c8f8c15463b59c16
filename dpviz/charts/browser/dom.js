// What all components share: elements, and coming and going.

export function made(kind, className, parent, more = {}) {
  const element = Object.assign(document.createElement(kind), more);
  if (className) element.className = className;
  parent.append(element);
  return element;
}

// How often something happened to an element, for who looks on.
export function counted(element, name) {
  element.dataset[name] = Number(element.dataset[name] ?? 0) + 1;
}

// What Streamlit mounts, one `Kind` an element: `adopt` is called with all that it tells, now and at every change.
// It may take a component away and put it back at once, and may end an earlier mount after a later one began: `come` is
// called with a signal that ends what it listens to, `gone` once nothing is mounted any more.
export function mounting(name, Kind) {
  return (props) => {
    const component = (props.parentElement[name] ??= new Kind(props.parentElement, props.data));
    if (!component.here) {
      component.here = new AbortController();
      component.come(component.here.signal);
    }
    const mount = (component.mount = {});
    component.adopt(props);
    return () => {
      if (component.mount !== mount || !component.here) return;
      component.here.abort();
      component.here = null;
      component.gone?.();
    };
  };
}

// Streamlit may take a component away and put it back at once, and may end an earlier mount after a later one began.

// What a mount returns: its end counts only while no later mount has begun.
export function ending(component) {
  const mine = (component.mounts = (component.mounts ?? 0) + 1);
  return () => mine === component.mounts && component.gone();
}

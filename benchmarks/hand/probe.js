// Watches one chart and one slider from inside the page. All times are of `performance.now()`, in milliseconds.
//
// An input is an event of the pointer or of a key after which the slider says something else; its time is the event's
// own, taken before any queue. A drawing is an animation frame in which a curve's path became another one; its time is
// the end of that frame, when style, layout and paint are done. An answer is a figure of the server's that is on our own
// chart; Plotly draws it once more a moment later, unseen.
selector => {
  const slider = () => document.querySelector(selector);
  const said = () => slider()?.value ?? slider()?.getAttribute('aria-valuenow');
  const curves = () => Array.from(document.querySelectorAll('.js-line, .point'),
    e => e.getAttribute('d') + e.getAttribute('transform')).join();
  const busy = () => {
    const script = document.querySelector('[data-testid="stApp"]')?.getAttribute('data-test-script-state');
    return (script && script !== 'notRunning') || document.querySelector('[data-testid="stMain"] [data-stale="true"]')
      || document.documentElement.hasAttribute('data-dpviz-pending')
      || [...document.querySelectorAll('.dpviz-chart')].some(plot => plot.dataset.state !== 'drawn');
  };
  const probe = {pending: 0}; // requests under way
  const fetch = window.fetch;
  window.fetch = (...asked) => {
    probe.pending += 1;
    return fetch(...asked).finally(() => (probe.pending -= 1));
  };
  probe.start = () => {
    Object.assign(probe, {inputs: [], drawn: [], kept: [], answered: [], moved: null, released: null, frames: 0, lastBusy: 0});
    Object.assign(probe, {value: said(), paths: curves(), changed: false, event: null, began: performance.now()});
  };
  for (const kind of ['pointermove', 'pointerdown', 'keydown', 'pointerup']) {
    window.addEventListener(kind, ({timeStamp}) => {
      probe.event = timeStamp;
      if (kind === 'pointermove') probe.moved ??= timeStamp;
      if (kind === 'pointerup') probe.released = timeStamp;
    }, {capture: true});
  }
  new MutationObserver(all => {
    for (const one of all) {
      if (one.attributeName === 'data-kept') probe.kept.push(performance.now());
      else if (one.attributeName === 'data-answers') probe.answered.push(performance.now());
      else probe.changed = true;
    }
  }).observe(document.documentElement,
    {subtree: true, childList: true, attributes: true, attributeFilter: ['d', 'transform', 'data-kept', 'data-answers']});
  const after = new MessageChannel();
  after.port1.onmessage = () => {
    const now = performance.now();
    probe.frames += 1;
    if (busy()) probe.lastBusy = now;
    const value = said();
    if (value !== probe.value) probe.inputs.push(probe.event);
    probe.value = value;
    if (!probe.changed) return;
    probe.changed = false;
    const paths = curves();
    if (paths !== probe.paths) probe.drawn.push(now);
    probe.paths = paths;
  };
  const look = () => {
    after.port2.postMessage(0);
    requestAnimationFrame(look);
  };
  probe.rested = ms => {
    const now = performance.now();
    return !probe.pending && now - Math.max(probe.began, probe.lastBusy, probe.event ?? 0, probe.drawn.at(-1) ?? 0, probe.kept.at(-1) ?? 0) >= ms;
  };
  probe.told = () => ({inputs: probe.inputs, drawn: probe.drawn, kept: probe.kept, answered: probe.answered, moved: probe.moved,
    released: probe.released, frames: probe.frames, lastBusy: probe.lastBusy});
  probe.start();
  requestAnimationFrame(look);
  window.probe = probe;
}

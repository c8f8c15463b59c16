// What a newcomer meets in the first view, the side bar excluded: controls, words, and how high the chart is.
//
// A control is a focusable element; a slider with its number's field is one, and so is the strip of the run. Words are
// those of visible text outside the chart and that strip; an icon's name is none. "In view" is within the window without
// scrolling.
() => {
  const main = document.querySelector('[data-testid="stMain"]');
  // What is clipped away, or within what is, is there for readers alone; so is what lies below a note that is cut short.
  const bottom = element => element.getBoundingClientRect().bottom;
  const below = element => element.parentElement?.matches('.note') && element.getBoundingClientRect().top >= bottom(element.parentElement) - 1;
  const hidden = element => element && (getComputedStyle(element).clipPath.startsWith('inset(50%') || below(element) || hidden(element.parentElement));
  const visible = element => {
    const box = element.getBoundingClientRect(), style = getComputedStyle(element);
    return box.width > 1 && box.height > 1 && box.top < innerHeight - 1 && box.bottom > 1 && box.left < innerWidth && box.right > 0
      && !hidden(element) && style.visibility !== 'hidden' && style.opacity !== '0' && element.checkVisibility();
  };
  const focusable = 'a[href], button:not([disabled]), input:not([disabled]), select, textarea, summary, [tabindex]:not([tabindex="-1"])';
  const controls = new Map();
  for (const element of main.querySelectorAll(focusable)) {
    if (!visible(element) || element.tabIndex < 0) continue;
    const number = element.matches('input') && element.closest('.dpviz-number');
    const strip = element.closest('.dpviz-run');
    const name = element.getAttribute('aria-label') || element.textContent.trim() || element.name || element.tagName;
    controls.set(number || strip || element, number ? number.dataset.field : name.slice(0, 40));
  }
  const words = [];
  const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const {parentElement: parent, textContent} = walker.currentNode;
    if (!textContent.trim() || parent.closest('style, script, svg, [data-testid="stIconMaterial"], .dpviz-chart, .dpviz-run, .dpviz-unseen') || !visible(parent)) continue;
    words.push(...textContent.trim().split(/\s+/));
  }
  const plot = [...main.querySelectorAll('.dpviz-chart .cartesianlayer .bg, .dpviz-chart .main-svg')].map(e => e.getBoundingClientRect());
  const beyond = Math.max(main.scrollWidth - main.clientWidth, 0);
  const clipped = [...main.querySelectorAll('.dpviz-number input:not([type="range"])')]
    .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => `${e.closest('.dpviz-number').dataset.field} ${e.value}`);
  const chart = main.querySelector('.dpviz-chart');
  return {controls: [...controls.values()], words, chart: Math.round(chart?.getBoundingClientRect().height ?? 0),
    plot: Math.round(plot.length ? Math.max(...plot.map(({height}) => height)) : 0), beyond, clipped};
}

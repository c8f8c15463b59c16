"""Every page can be used by those who hear it or have keys alone: judged by axe-core, in both themes."""

from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Page

from dpviz.ui.page import ENTRIES
from tests.browser.contrast import faint
from tests.browser.driver import main_area, no_traceback, open_page, wait_idle

ORDER = [key for key, entry in ENTRIES.items() if not entry.hidden]
AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"

# What is wrong, and each contrast that could not be decided. Charts' drawings are put away: their words are measured by
# `contrast.py`, and curves that are clipped at the plot's edge would lie over the page for axe.
JUDGED = """
async (rules) => {
  const drawings = [...document.querySelectorAll('.js-plotly-plot .main-svg, .dpviz-number svg')];
  for (const drawing of drawings) drawing.style.visibility = 'hidden';
  const found = await axe.run(document, {resultTypes: ['violations', 'incomplete'], ...rules});
  for (const drawing of drawings) drawing.style.visibility = '';
  // Streamlit itself puts the lists of a navigation in sections into blocks within one list.
  const navigation = ({target}) => document.querySelector(target).closest('[data-testid="stSidebarNav"]');
  const ours = ({id, nodes}) => !/^list(item)?$/.test(id) || !nodes.every(navigation);
  const grave = found.violations.filter(({impact}) => ['serious', 'critical'].includes(impact)).filter(ours);
  const open = found.incomplete.filter(({id}) => id === 'color-contrast');
  const told = ({id, nodes}) => nodes.map(({html, failureSummary}) => [id, html, failureSummary]);
  return [...grave, ...open].flatMap(told);
}
"""

# In the order of the tab key: where the controls of numbers and the buttons of charts stand. A slide's chart has none.
ORDER_SCRIPT = """
() => [...document.querySelectorAll('[data-testid="stMain"] :is(input, button, a)')].filter(
  element => element.checkVisibility()).map(
  element => element.closest('.modebar') ? 'bar' : element.closest('.dpviz-number') ? 'control' : '').filter(Boolean)
"""


@pytest.mark.sweep
@pytest.mark.timeout(600)
def test_every_page_in_both_themes(page: Page) -> None:
    open_page(page)
    page.add_script_tag(content=AXE.read_text())
    themes = ["light", "dark"]
    for key, entry in ENTRIES.items():
        if entry.hidden:
            open_page(page, key)
            page.add_script_tag(content=AXE.read_text())
        elif key != ORDER[0]:
            page.get_by_test_id("stSidebarNavLink").nth(ORDER.index(key)).click()
            page.wait_for_url(f"**/{key}**")
        wait_idle(page)
        no_traceback(page)
        for theme in themes:
            page.emulate_media(color_scheme=theme)
            wait_idle(page, settle_ms=1500)  # a new theme draws the page again, on a busy machine after a while
            # In the second theme the page differs by its colours alone.
            wrong = page.evaluate(JUDGED, {} if theme == themes[0] else {"runOnly": ["color-contrast"]})
            assert (key, theme, wrong, faint(page)) == (key, theme, [], [])
        themes.reverse()  # the next page begins in the theme of this one
        title = main_area(page).get_by_role("heading", level=1).inner_text()
        assert page.title().startswith("Home · " if key == ORDER[0] else f"{title} · ")
        assert main_area(page).get_by_role("heading", level=1).count() == 1
        assert page.locator(".dpviz-heard").count() <= 1, "one voice a page"
        assert all(len(chart.get_attribute("aria-label") or "") > 20 for chart in page.locator(".dpviz-chart").all())
        stations = page.evaluate(ORDER_SCRIPT)
        assert stations == sorted(stations, reverse=True), "controls first, then the bars of charts"


# What has the focus and where it stands, where something else is drawn over its middle; null where it is seen.
HIDDEN = """
() => {
  const focus = document.activeElement;
  const { left, top, width, height } = focus.getBoundingClientRect();
  const drawn = document.elementFromPoint(left + width / 2, top + height / 2);
  return focus.contains(drawn) || drawn?.contains(focus) ? null : [focus.outerHTML.slice(0, 80), top];
}
"""


def test_the_chart_hides_nothing_that_has_the_focus(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    open_page(page, "compose")
    main_area(page).get_by_text("Share", exact=True).click()
    main_area(page).get_by_role("button", name="Download as a page").focus()
    for _ in range(6):
        page.keyboard.press("Shift+Tab")
        page.wait_for_timeout(300)  # it may scroll smoothly
        assert page.evaluate(HIDDEN) is None

"""Every word of every chart can be read, in both themes: contrast of at least 4.5 (WCAG 2.1, 1.4.3)."""

import pytest
from playwright.sync_api import Page

from tests.browser.contrast import chart_texts, faint
from tests.browser.driver import no_traceback, open_page, wait_idle

PAGES = (  # one of each kind of chart
    "compose?pin=sigma%3D6&logy=1",
    "attack?aview=town",
    "attack?aview=releases",
    "noise?noiseview=solve",
    "budget?bview=policy",
    "langevin?lview=region",
    "train",
)


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.one_of(7)
def test_words_on_charts_can_be_read_in_both_themes(page: Page, path: str) -> None:
    open_page(page, path)
    no_traceback(page)
    for theme in ("light", "dark"):  # switched under the open page, as a visitor does
        page.emulate_media(color_scheme=theme)
        wait_idle(page)
        assert page.evaluate("getComputedStyle(document.querySelector('[data-testid=stApp]')).colorScheme") == theme
        assert len(chart_texts(page)) > 5, "the chart has ticks and names"
        assert faint(page) == []

"""The tabs that tests get: nothing of another test is in them, and none asks for anything of another machine."""

import pytest
from playwright.sync_api import Browser

from tests.browser.driver import LOOKS, Visitors, open_page, watched_tab

# What a page can keep, and leave.
KEEP = """
async () => {
  localStorage.setItem('kept', 'a'); sessionStorage.setItem('kept', 'b'); document.cookie = 'kept=c; path=/';
  await new Promise((done) => { indexedDB.open('kept').onsuccess = done; });
  await (await caches.open('kept')).put('/kept', new Response('d'));
}
"""
KEPT = """
async () => [
  localStorage.getItem('kept'), sessionStorage.getItem('kept'), document.cookie.includes('kept'),
  (await indexedDB.databases()).length, (await caches.keys()).length,
]
"""
TRANSFERRED = """
() => performance.getEntriesByType('resource').find((one) => one.name.endsWith('/plotly.js')).transferSize
"""


def test_a_tab_finds_nothing_of_the_one_before_but_the_files_of_the_app(visitors: Visitors) -> None:
    with visitors.tab(LOOKS[0]) as one:
        open_page(one, "compose", curves="moments", sigma=3)
        one.evaluate(KEEP)
        assert one.evaluate(KEPT) == ["a", "b", True, 1, 1]
        one.evaluate("() => { open('/_stcore/health'); }")
    with visitors.tab(LOOKS[0]) as another:
        open_page(another, "compose", curves="moments")
        assert another.evaluate(KEPT) == [None, None, False, 0, 0]
        assert len(another.context.pages) == 2, "this one and the one that stays"
        assert another.evaluate(TRANSFERRED) == 0
        assert "sigma" not in another.url


@pytest.mark.parametrize("address", ["https://example.org/x.js", "http://192.0.2.1/x.js", "http://127.0.0.2:8000/x.js"])
def test_an_address_elsewhere_leads_nowhere_and_fails_the_test(browser: Browser, app_url: str, address: str) -> None:
    failed: list[str] = []

    def ask() -> None:
        with watched_tab(browser, app_url, base_url=app_url) as page:
            page.goto("/_stcore/health")
            page.on("requestfailed", lambda request: failed.append(request.failure or ""))
            page.evaluate("address => fetch(address, {mode: 'no-cors'}).catch(String)", address)

    with pytest.raises(AssertionError, match="x.js"):
        ask()
    assert failed == ["net::ERR_NAME_NOT_RESOLVED"]

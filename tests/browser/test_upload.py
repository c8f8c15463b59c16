"""Files of one's own in a real browser: what cannot be used says why on the spot, and nothing else is lost."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import dpviz
from tests.browser.driver import ROOT, chart_data, main_area, no_traceback, open_page, running_app, wait_idle

pytestmark = pytest.mark.sweep


def give(page: Page, name: str, data: bytes) -> None:
    chooser = main_area(page).locator('[data-testid="stFileUploader"] input[type=file]')
    chooser.set_input_files({"name": name, "mimeType": "application/octet-stream", "buffer": data})
    page.wait_for_timeout(300)
    wait_idle(page)


@pytest.fixture
def compose(page: Page) -> Page:
    open_page(page, "compose", source="upload", sigma=3, curves="moments.bayesian")
    main_area(page).get_by_role("radio", name="Gradients").click()
    wait_idle(page)
    return page


def test_bad_files_say_why_and_a_good_one_works_after_them(compose: Page) -> None:
    expect(main_area(compose).get_by_text("upload a CSV or NPY").first).to_be_visible()
    for name, data, words in (
        ("empty.csv", b"", "empty"),
        ("text.csv", b"norm\n1.0\nmuch\n", "much"),
        ("pickle.npy", pickle.dumps([1, 2]), "binary"),
        ("ragged.csv", b"norm\n0.5763,9\n1.0281,9\n", "line 2 holds"),
    ):
        give(compose, name, data)
        expect(main_area(compose).locator(".dpviz-problem").first).to_contain_text(words)
        no_traceback(compose)
    norms = np.random.default_rng(3).weibull(2.0, 3000)
    lines = b"\n".join(b"%d;%.9g" % pair for pair in enumerate(norms))
    give(compose, "norms.csv", b"step;norm\n" + lines.replace(b".", b","))  # as a spreadsheet in German writes it
    expect(main_area(compose).locator(".dpviz-problem")).to_have_count(0)
    drawn = next(t for t in chart_data(compose)["data"] if t.get("name") == "Bayesian DP (weaker)" and len(t["x"]) > 2)
    read = np.array([float(f"{v:.9g}") for v in norms])
    threshold = float(np.quantile(read, 0.95))
    expected = dpviz.bayesian_epsilon(
        np.minimum(read, threshold),
        noise_std=3 * threshold,
        sample_rate=0.01,
        steps=np.array(drawn["x"]),
        delta_mu=1e-5,
        largest_distance=threshold,
    )
    np.testing.assert_allclose(drawn["y"], expected, rtol=1e-4)


def test_a_page_opened_first_on_a_fresh_server_has_the_app_around_it(browser: Browser, tmp_path: Path) -> None:
    with running_app(ROOT / "app.py", tmp_path / "streamlit.log") as url, browser.new_page() as page:
        page.goto(f"{url}/compose?sigma=2")
        wait_idle(page)
        expect(page.get_by_test_id("stSidebarNav").get_by_text("Home", exact=True)).to_be_visible()
        expect(page.get_by_test_id("stSidebarNav").get_by_text("app", exact=True)).to_have_count(0)
        no_traceback(page)

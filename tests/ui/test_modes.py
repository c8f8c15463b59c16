"""Pages that are presented or embedded, without a browser."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpviz.questions.mechanism import SIGMA
from dpviz.ui.access import FRAMED_BY, framing
from tests.ui.driver import controls, enter, html_of, open_app, press, said, set_to

pytestmark = pytest.mark.usefixtures("without_slow_parts")


def test_an_embedded_page_keeps_its_controls_and_loses_the_rest() -> None:
    at = open_app("compose", "embed=1&sigma=3")
    assert "sigma" in controls(at)
    assert said(at, "strip")
    assert "?sigma=3" in html_of(at).split('class="dpviz-open" href="')[1].split('"')[0]
    assert not at.sidebar.button
    assert "compose.details" in open_app("compose").session_state
    assert "compose.details" not in at.session_state
    assert "embed=true" in html_of(at), "the address keeps it"


def test_a_presented_page_has_the_controls_that_the_link_names() -> None:
    assert list(controls(open_app("noise", "present=steps.delta"))) == ["steps", "delta"]
    assert len(controls(open_app("attack", "present=1"))) == 2
    at = open_app("compose", "present=nonsense.%3Cb%3E")
    assert list(controls(at)) == ["sigma", "q"]
    assert "<b>" not in html_of(at).split("present=")[1][:40]


def test_the_presenter_chooses_the_sliders() -> None:
    at = open_app("compose", "present=1")
    [chooser] = at.multiselect
    assert chooser.value == list(controls(at)) == ["sigma", "q"]
    chooser.set_value(["steps", "delta", "sigma"]).run()
    assert list(controls(at)) == at.multiselect[0].value == ["steps", "delta", "sigma"]
    assert "present=steps.delta.sigma" in html_of(at), "the link says so"
    at.multiselect[0].set_value([]).run()
    assert list(controls(at)) == ["sigma", "q"]
    assert "story" in next(
        button.help for button in open_app("compose").sidebar.button if button.label.startswith("Pin")
    )


def test_a_story_goes_on_from_its_stop_also_after_a_slider_was_moved_there() -> None:
    at = open_app("compose", "present=1&pin=sigma%3D3&pin=sigma%3D7")
    press(at, "Next")
    assert set_to(at, SIGMA) == 3.0
    enter(at, "sigma", "5")
    press(at, "Next")
    assert set_to(at, SIGMA) == 7.0
    assert next(button for button in at.button if button.label == "Next").disabled
    press(at, "Back")
    assert set_to(at, SIGMA) == 3.0


@pytest.mark.parametrize("page", ["home", "orders", "attack", "noise", "budget", "langevin"])
@pytest.mark.one_of(3)
def test_every_page_can_be_shown_so(page: str) -> None:
    for query in ("present=1", "embed=1", "embed=1&present=1&pin=sigma%3D2"):
        at = open_app(page, query)
        assert len(said(at, "headline")) == 1


def test_framing_is_refused_but_to_the_sites_named() -> None:
    assert dict(framing("")) == {b"content-security-policy": b"frame-ancestors 'none'", b"x-frame-options": b"DENY"}
    allowed = dict(framing("https://a.example http://localhost:8000"))
    assert allowed == {b"content-security-policy": b"frame-ancestors 'self' https://a.example http://localhost:8000"}
    for wrong in ("*", "https://*", "a.example", "https://a.example/x", "https://a.example; script-src *", "null"):
        with pytest.raises(ValueError, match="DPVIZ_FRAMED_BY"):
            framing(wrong)


def test_a_server_told_of_no_site_says_so_and_does_not_start() -> None:
    """As `streamlit run app.py` imports the app, before any request."""
    started = subprocess.run(
        [sys.executable, "-c", "import app"],
        cwd=Path(__file__).parents[2],
        env={**os.environ, FRAMED_BY: "a.example"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert started.returncode == 1
    assert started.stderr.splitlines()[-1].startswith(f"Expected {FRAMED_BY} to name origins")
    assert "Traceback" not in started.stderr

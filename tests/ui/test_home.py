"""The home page and its tour."""

import pytest

import dpviz
from dpviz.ui.home import PAGES, TOUR
from dpviz.ui.registry import FIELDS
from tests.ui.driver import APP, open_app, said


def test_every_page_named_exists():
    assert all((APP.parent / path).is_file() for path, _, _ in PAGES)


def test_the_live_sentence_follows_the_slider():
    at = open_app("home")
    at.select_slider(key="slider.sigma").set_value(2.0).run()
    epsilon = dpviz.epsilon("renyi", noise_multiplier=2.0, sample_rate=0.01, steps=10_000, delta=1e-5)
    shown = float(said(at, "sentence")[0].split("ε ≤ ")[1].split()[0].rstrip(")."))
    assert epsilon <= shown <= 1.01 * epsilon


@pytest.mark.parametrize("number", range(1, len(TOUR) + 1))
def test_each_stop_of_the_tour_sets_up_compose(number):
    at = open_app("home")
    at.button(key=f"tour.{number}").click().run()
    assert not at.exception
    fields = {field.key: field for field in FIELDS}
    for key, text in TOUR[number - 1].values.items():
        assert at.session_state[f"value.{key}"] == fields[key].parse(text)


def test_a_bad_link_is_told_at_home_too():
    at = open_app("home", "sigma=-1")
    assert "-1 is outside" in at.warning[0].value

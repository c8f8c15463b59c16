"""The home page and its tour."""

import pytest

import dpviz
from dpviz.questions import guessing
from dpviz.ui.home import TOUR, headline
from dpviz.ui.registry import FIELDS
from tests.ui.driver import enter, open_app, said


def test_every_page_is_named():
    at = open_app("home")
    named = [link.proto.page for link in at.get("page_link")]
    assert named == ["compose", "orders", "attack", "noise", "budget", "langevin", "train", "runs", "leakage", "papers"]


def test_the_live_headline_follows_the_slider():
    at = open_app("home")
    enter(at, "sigma", "2")
    epsilon = dpviz.epsilon("renyi", noise_multiplier=2.0, sample_rate=0.01, steps=10_000, delta=1e-5)
    shown = float(said(at, "headline")[0].split("ε ≤ ")[1].split()[0].rstrip(")."))
    assert epsilon <= shown <= 1.01 * epsilon


def test_the_best_attack_is_told_by_the_whole_curve():
    at = open_app("home")
    words = " ".join(said(at, "headline")[0].split())
    assert "at most 55.1 % of the time, where 50 % is chance; ε ≤ 1.04 and δ alone would allow 73.8 %" in words


def test_until_it_is_there_the_pair_is():
    words = headline(4.0, 10_000, 1.25, guessing.guess(1.25, 1e-5, None))
    assert "at most <b>77.8 %</b> of the time, by <b>ε ≤ 1.25</b> and δ alone" in words
    assert guessing.ON_ITS_WAY in words


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

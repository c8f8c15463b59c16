"""The home page and its story."""

import pytest

import dpviz
from dpviz.questions import guessing
from dpviz.questions.story import STOPS, attacker
from dpviz.ui.registry import FIELDS
from tests.ui.driver import charts, enter, open_app, said


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
    words = attacker(4.0, 10_000, 1.25, guessing.guess(1.25, 1e-5, None))
    assert "at most <b>77.8 %</b> of the time, by <b>ε ≤ 1.25</b> and δ alone" in words
    assert guessing.ON_ITS_WAY in words


NUMBERS = [str(number) for number in range(1, len(STOPS) + 1)]


@pytest.mark.parametrize("number", NUMBERS)
def test_each_stop_is_an_address_and_can_be_gone_into(number):
    stop = STOPS[int(number) - 1]
    at = open_app("home", f"stop={number}&sigma=3")
    assert f"**{number} of {len(STOPS)} · {stop.title}**" in at.markdown[0].value
    assert len(charts(at)) == 1
    assert at.session_state["value.sigma"] == 3.0
    at.button(key="story.Next").click() if number != NUMBERS[-1] else at.button(key="story.Back").click()
    at.run()
    at.button(key=f"story.{'Back' if number != NUMBERS[-1] else 'Next'}").click().run()
    assert not at.exception
    assert f"**{number} of {len(STOPS)}" in at.markdown[0].value
    [leave] = [button for button in at.button if button.label == f"Open in {stop.page.title}"]
    enter(at, "sigma", "2")
    leave.click().run()
    assert not at.exception
    fields = {field.key: field for field in FIELDS}
    for key, text in (dict(stop.values) | {"sigma": "2"}).items():
        assert at.session_state[f"value.{key}"] == fields[key].parse(text)


def test_the_ends_have_one_way_each():
    for number, ways in {"1": [True, False], "5": [False, True]}.items():
        at = open_app("home", f"stop={number}")
        assert [at.button(key=f"story.{way}").disabled for way in ("Back", "Next")] == ways


def test_the_story_leaves_other_pages_settings_alone():
    at = open_app("home", "stop=2&curves=closed_form")
    at.button(key="story.Next").click().run()
    assert at.session_state["value.curves"] == ("closed_form",)
    assert "10 times as large" in at.markdown[0].value


def test_a_bad_stop_is_told():
    at = open_app("home", "stop=9")
    assert "none of 1, 2, 3, 4, 5" in at.warning[0].value
    assert "**1 of 5" in at.markdown[0].value


def test_a_bad_link_is_told_at_home_too():
    at = open_app("home", "sigma=-1")
    assert "-1 is outside" in at.warning[0].value

"""What the story's texts say is computed, and follows the settings."""

import dataclasses
import re

import numpy as np
import pytest

import dpviz
from dpviz.questions.story import STOPS, Now
from dpviz.questions.tight_band import TightBand
from tests.questions.asking import asked, asked_whole

SETTINGS = [{}, {"sigma": "1.3", "q": "0.004", "steps": "777", "delta": "1e-6"}]


def settings_of(stop, setting):
    """What a stop asks its question with, as texts: without the page's choice of a question."""
    own = {field.key for field in stop.question.fields}
    return {key: text for key, text in (dict(stop.values) | setting).items() if key in own}


def whole(number, setting):
    stop = STOPS[number - 1]
    return stop, asked_whole(stop.question, **settings_of(stop, setting))


def known(setting):
    names = {"sigma": "noise_multiplier", "q": "sample_rate", "steps": "steps", "delta": "delta"}
    usual = {"sigma": "4", "q": "0.01", "steps": "10000", "delta": "1e-5"}
    return {names[key]: float(text) for key, text in (usual | setting).items()}


def epsilon(method, setting, **changed):
    return dpviz.epsilon(method, **(setting | changed))


# Stop, what one of the numbers in its text is by the library, and the parts of that between which it is said.
NUMBERS = [
    (1, lambda k: epsilon("renyi", k), 1.0, 1.01),
    (3, lambda k: epsilon("strong", k), 1.0, 1.01),
    (3, lambda k: epsilon("moments", k), 1.0, 1.01),
    (3, lambda k: epsilon("renyi", k), 1.0, 1.01),
    (3, lambda k: epsilon("strong", k) / epsilon("moments", k), 0.9, 1.0),
    (4, lambda k: epsilon("renyi", k, sample_rate=10 * k["sample_rate"]), 1.0, 1.01),
    (5, lambda k: 100 * (epsilon("moments", k) / epsilon("tight", k) - 1), 0.85, 1.02),
    (6, lambda k: 100 * best_accuracy(k), 1.0, 1.01),
]


def best_accuracy(setting):
    return dpviz.best_accuracy(**{name: value for name, value in setting.items() if name != "delta"}).upper


@pytest.mark.parametrize("setting", SETTINGS, ids=["usual", "other"])
@pytest.mark.parametrize(("stop", "value", "low", "high"), NUMBERS)
def test_numbers_are_the_librarys(stop, value, low, high, setting):
    told, answer = whole(stop, setting)
    exact = value(known(setting))
    numbers = [float(number) for number in re.findall(r"\d+\.?\d*(?<!\.)", told.text(lambda: answer))]
    assert any(low * exact <= number <= high * exact for number in numbers)
    assert len(told.plot(answer).lines) == 2 or stop != 4


def test_every_stop_says_how_often_the_best_attack_is_right():
    for number, stop in enumerate(STOPS, start=1):
        if stop.counts:
            assert "55.1 %" in stop.headline(whole(number, {})[1]), stop.title


def test_sampling_says_where_there_is_none():
    answer = asked(STOPS[3].question, q="0.5", curves="renyi_improved")
    assert Now(answer).larger is None
    assert "ε ≤" not in STOPS[3].text(lambda: answer)
    assert len(STOPS[3].plot(answer).lines) == len(answer.plot.lines)


def test_at_least_is_never_more_than_there_is():
    answer = asked(STOPS[4].question, **STOPS[4].values)
    upper = np.array([Now(answer).last("moments") / 1.0269])
    tight = TightBand(np.ones(1), upper, upper)
    later = dataclasses.replace(answer, facts=dataclasses.replace(answer.facts, tight=tight))
    told = STOPS[4].text(lambda: later)
    assert "at least 2.6 %" in told


def test_the_truth_waits():
    assert "still being computed" in STOPS[4].text(lambda: asked(STOPS[4].question, **STOPS[4].values))


@pytest.mark.parametrize("setting", [{"sigma": "1e-3", "q": "1"}, {"sigma": "1e6"}, {"q": "0"}, {"steps": "1"}])
@pytest.mark.parametrize("stop", STOPS, ids=lambda stop: stop.title)
@pytest.mark.one_of(3)
def test_no_setting_breaks_a_text(stop, setting):
    texts = settings_of(stop, setting)
    for answer in (asked(stop.question, **texts), asked_whole(stop.question, **texts)):
        text = stop.text(lambda answer=answer: answer)
        assert not re.search(r"\b(nan|inf|None)\b", text + stop.headline(answer))
        stop.plot(answer).chart(300)


def test_every_paper_s_idea_has_its_stop():
    texts = " ".join(stop.text(lambda stop=stop: asked(stop.question, **settings_of(stop, {}))) for stop in STOPS)
    ideas = ["moments accountant", "Rényi DP", "Bayesian DP", "SGLD", "filter", "odometer"]
    assert [idea for idea in ideas if f"**{idea}" not in texts and f"({idea})" not in texts] == []
    assert {stop.page.key for stop in STOPS} == {"compose", "attack", "budget", "langevin"}


def test_a_text_without_numbers_asks_for_no_answer():
    def no_answer():
        raise AssertionError

    assert all(stop.text(no_answer) for stop in STOPS if not stop.counts)


def test_a_story_draws_nothing_that_no_text_explains():
    """Compose holds its curves against ∝ √T; the story does not say what that is."""
    stop, answer = whole(1, {})
    assert answer.plot.references
    assert not stop.plot(answer).references

"""What the story's texts say is computed, and follows the settings."""

import dataclasses
import re

import numpy as np
import pytest

import dpviz
from dpviz.questions.story import STOPS, batches, last
from dpviz.questions.tight_band import TightBand
from tests.questions.asking import asked, asked_whole

SETTINGS = [{}, {"sigma": "1.3", "q": "0.004", "steps": "777", "delta": "1e-6"}]


def whole(number, setting):
    stop = STOPS[number - 1]
    texts = {key: text for key, text in stop.values.items() if key != "aview"} | setting
    return stop, asked_whole(stop.question, **texts)


def known(setting):
    names = {"sigma": "noise_multiplier", "q": "sample_rate", "steps": "steps", "delta": "delta"}
    usual = {"sigma": "4", "q": "0.01", "steps": "10000", "delta": "1e-5"}
    return {names[key]: float(text) for key, text in (usual | setting).items()}


def number(pattern, text):
    return float(re.search(pattern, text)[1])


@pytest.mark.parametrize("setting", SETTINGS, ids=["usual", "other"])
class TestNumbers:
    def test_meaning(self, setting):
        stop, answer = whole(1, setting)
        epsilon = dpviz.epsilon("renyi", **known(setting))
        assert epsilon <= number(r"ε ≤ ([\d.]+)\*", stop.text(answer)) <= 1.01 * epsilon

    def test_strong_loses(self, setting):
        stop, answer = whole(2, setting)
        text = stop.text(answer)
        strong, moments = (dpviz.epsilon(name, **known(setting)) for name in ("strong", "moments"))
        assert strong <= number(r"fits: ε ≤ (\d[\d.]*\d)", text) <= 1.01 * strong
        assert moments <= number(r"ε ≤ \*\*(\d[\d.]*\d)", text) <= 1.01 * moments
        times = number(r"([\d.]+) times less", text)
        assert 0.9 * strong / moments <= times <= strong / moments

    def test_sampling_buys(self, setting):
        stop, answer = whole(3, setting)
        more = known(setting) | {"sample_rate": 10 * known(setting)["sample_rate"]}
        epsilon = dpviz.epsilon("renyi", **more)
        assert epsilon <= number(r"cost ε ≤ (\d[\d.]*)", stop.text(answer)) <= 1.01 * epsilon
        assert len(stop.plot(answer).lines) == 2

    def test_truth(self, setting):
        stop, answer = whole(4, setting)
        upper = dpviz.epsilon("tight", **known(setting))
        extra = 100 * (dpviz.epsilon("moments", **known(setting)) / upper - 1)
        assert 0.85 * extra <= number(r"at least ([\d.]+) % more", stop.text(answer)) <= 1.02 * extra

    def test_seen(self, setting):
        stop, answer = whole(5, setting)
        best = dpviz.best_accuracy(**{k: v for k, v in known(setting).items() if k != "delta"}).upper
        assert 100 * best <= number(r"at most \*\*([\d.]+) %", stop.text(answer)) <= 101 * best


def test_sampling_says_where_there_is_none():
    answer = asked(STOPS[2].question, q="0.5", curves="renyi_improved")
    assert batches(answer) is None
    assert "buys nothing" in STOPS[2].text(answer)
    assert STOPS[2].plot(answer) is answer.plot


def test_at_least_is_never_more_than_there_is():
    answer = asked(STOPS[3].question, **STOPS[3].values)
    upper = np.array([last(answer, "moments") / 1.0269])
    tight = TightBand(np.ones(1), upper, upper)
    told = STOPS[3].text(dataclasses.replace(answer, facts=dataclasses.replace(answer.facts, tight=tight)))
    assert "says at least 2.6 % more" in told


def test_the_truth_waits():
    assert "on its way" in STOPS[3].text(asked(STOPS[3].question, **STOPS[3].values))


@pytest.mark.parametrize("setting", [{"sigma": "1e-3", "q": "1"}, {"sigma": "1e6"}, {"q": "0"}, {"steps": "1"}])
@pytest.mark.parametrize("stop", STOPS, ids=lambda stop: stop.title)
def test_no_setting_breaks_a_text(stop, setting):
    texts = {key: text for key, text in stop.values.items() if key != "aview"} | setting
    for answer in (asked(stop.question, **texts), asked_whole(stop.question, **texts)):
        assert not re.search(r"\b(nan|inf|None)\b", stop.text(answer) + stop.headline(answer))
        stop.plot(answer).chart(300)

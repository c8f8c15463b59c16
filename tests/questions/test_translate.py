"""Settings of other libraries: the events that follow, the words beside them, and what is refused."""

from contextlib import suppress
from dataclasses import astuple

import pytest
from dp_accounting import ComposedDpEvent, GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent
from opacus.accountants import RDPAccountant

import dpviz
from dpviz import mechanisms
from dpviz.questions.pasted.texts import LONGEST
from dpviz.questions.use import RELEASES, Plan, shuffled_epsilon, snippets
from tests.questions.asking import table

TABLE = table("translated")
PLANS = [
    Plan(4.126, 0.01, 10_000, 1e-5, "renyi_improved", "exact"),
    Plan(0.9, 256 / 60000, 12_345, 1e-7, "moments", ""),
]


def event(expression: str, steps: int) -> dpviz.Mechanism:
    return eval(expression, vars(mechanisms)), steps


@pytest.mark.parametrize("case", TABLE["texts"].values(), ids=TABLE["texts"])
def test_a_text_becomes_events(case):
    plan = dpviz.translate(case["text"])
    assert plan.gaps == ()
    expected = [event(*one)[0] for one in case["events"]]
    for (step, _), other in zip(plan.events, expected, strict=True):
        assert type(step) is type(other)
        assert astuple(step) == pytest.approx(astuple(other), rel=1e-12)
    assert [count for _, count in plan.events] == [count for _, count in case["events"]]
    assert (plan.delta, plan.clip) == (case.get("delta"), case.get("clip"))
    for words in case.get("words", ()):
        assert any(words in sentence for sentence in plan.assumptions), (words, plan.assumptions)


@pytest.mark.parametrize(("text", "words"), TABLE["gaps"].items())
def test_what_is_missing_is_named_and_there_is_no_epsilon(text, words):
    plan = dpviz.translate(text)
    assert plan.events == ()
    for part in words:
        assert any(part in gap for gap in plan.gaps), plan.gaps
    with pytest.raises(ValueError, match="There is no ε yet"):
        plan.epsilon(1e-5)


HOSTILE = {
    "x" * (LONGEST + 1): "20,001 characters",
    "[" * 5000 + "]" * 5000: "No number|nested too deeply",
    "sigma = " + "-" * 5000 + "1": "No number|nested too deeply",
    "GaussianDpEvent(" + "1+" * 5000 + "1)": "nested too deeply|[nN]o number",
    "a " * 9000: "No number",
    " " * LONGEST: "No number",
    "[([" * 6000: "No number",
    "a" * LONGEST: "No number",
    "a-" * 10_000: "No number",
}


@pytest.mark.parametrize(("text", "words"), [*TABLE["refused"].items(), *HOSTILE.items()], ids=lambda text: text[:30])
def test_what_cannot_be_translated_is_refused_in_words(text, words):
    with pytest.raises(ValueError, match=words):
        dpviz.translate(text)


@pytest.mark.parametrize("text", ["{}", "[({}, 0.1, 5)]", "GaussianDpEvent({})", "sigma = {}", "sigma=1.1 {}"])
def test_text_is_never_run(text, tmp_path):
    with suppress(ValueError):
        assert dpviz.translate(text.format(f"open({str(tmp_path)!r} + '/x', 'w')")).events == ()
    assert not list(tmp_path.iterdir())


def test_of_two_readings_that_differ_in_their_last_digits_the_costlier_counts():
    text = "sigma = 1.1\nnoise_multiplier = 1.0999999999999\nq = 0.01\nsample_rate = 0.010000000000001\nsteps = 7"
    assert dpviz.translate(text).events == ((dpviz.SampledGaussian(1.0999999999999, 0.010000000000001), 7),)


def test_an_accountants_history_has_the_epsilon_of_its_steps():
    accountant, steps = RDPAccountant(), [(1.1, 0.01, 300), (0.9, 0.02, 50)]
    for sigma, rate, count in steps:
        for _ in range(count):
            accountant.step(noise_multiplier=sigma, sample_rate=rate)
    events = [(dpviz.SampledGaussian(sigma, rate), count) for sigma, rate, count in steps]
    expected = dpviz.accountant("tight").of_events(events, 1e-5).epsilon
    for text in (repr(accountant.history), repr(accountant.state_dict()), f"INFO {accountant.history} steps=999"):
        assert dpviz.translate(text).epsilon(1e-5) == expected
    assert dpviz.translate(repr(accountant.history)).epsilon(1e-5, "lower") <= accountant.get_epsilon(1e-5)
    dp_event = ComposedDpEvent(
        [SelfComposedDpEvent(PoissonSampledDpEvent(q, GaussianDpEvent(sigma)), n) for sigma, q, n in steps]
    )
    assert dpviz.translate(repr(dp_event)).events == tuple(events)


@pytest.mark.parametrize("plan", PLANS, ids=["short", "long"])
@pytest.mark.parametrize("name", RELEASES)
def test_every_printed_snippet_is_translated_back(name, plan):
    code = snippets(plan)[name]
    back = dpviz.translate(code)
    assert back.gaps == ()
    assert back.events == ((dpviz.SampledGaussian(plan.noise_multiplier, plan.sample_rate), plan.steps),)
    assert (back.delta, back.clip) == (plan.delta, 1.0)
    assert "Poisson sample" in code
    shuffled = dpviz.Shuffled(plan.noise_multiplier, round(1 / plan.sample_rate))
    passes = {10_000: 100, 12_345: 53}[plan.steps]  # 52.7 epochs
    assert shuffled_epsilon(plan) == dpviz.epsilon("tight", mechanism=shuffled, steps=passes, delta=plan.delta)

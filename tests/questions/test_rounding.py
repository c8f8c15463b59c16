"""Numbers in sentences, read again as a person reads them: each on the side on which the sentence stays true.

A bound that is written smaller than it is, a range that is written wider, and a setting that is rounded while the
result belongs to the unrounded one, are one kind of fault. Its cure is one module (`dpviz/fields/numbers.py`); these
rows hold what sentences of many questions say against the facts behind them, over random settings.
"""

import html
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import dpviz
from dpviz.accounting.guarantee import Losses
from dpviz.fields import numbers
from dpviz.questions.answer import Answer
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.guarantee.card import Guarantee
from dpviz.questions.noise.risk import odds
from tests.questions.asking import asked, headline

NUMBER = r"([0-9.\u202f]+(?:e-?[0-9]+)?)"
SIDES: dict[str, Callable[[float, float], bool]] = {
    "≤": lambda written, fact: written >= fact * (1 - 1e-12),  # what a sentence gives as an upper bound
    "≥": lambda written, fact: written <= fact * (1 + 1e-12),
    "=": lambda written, fact: written == pytest.approx(fact, rel=1e-11),
}


class Said(NamedTuple):
    """A number in a question's sentences: before which words, and on which side of which fact it must be."""

    question: str
    pattern: str
    side: str
    fact: Callable[[Answer[Any]], float]
    settings: str = ""


Draw = Callable[[np.random.Generator], str]


def between(low: float, high: float) -> Draw:
    return lambda random: f"{math.exp(random.uniform(math.log(low), math.log(high))):.15g}"


DRAWN: dict[str, dict[str, Draw]] = {
    "success": {"epsilon": between(0.01, 8)},
    "concentrated": {"noise_multiplier": between(0.5, 20), "sample_rate": between(1e-4, 0.5)},
    "divergence": {"noise_multiplier": between(4, 20), "sample_rate": between(1e-4, 0.1)},
    "densities": {"noise_multiplier": between(0.5, 20), "sample_rate": between(1e-4, 0.5), "order": between(1.5, 100)},
    "thresholds": {"noise_multiplier": between(0.8, 20)},
    "tail": {"epsilon": between(0.5, 4)},
    "theorem1": {"epsilon": between(0.5, 4)},
    "theorem5": {"noise_multiplier": between(1, 20), "sample_rate": between(1e-3, 0.3)},
    "sgm_figure1": {"sample_rate": between(1e-4, 0.1)},
    "risk": {"after": between(0.02, 0.9), "before": between(1e-4, 0.02)},
    "langevin_cost": {"step_size": between(0.001, 1), "claim": between(0.05, 2)},
    "langevin_epsilon": {"claim": between(0.05, 2)},
    "check": {"claimed": between(0.5, 9)},
}


def right(answer: Answer[Any]) -> float:
    """The share of right guesses that ε and δ allow."""
    return float(dpviz.attack_success(answer.given["epsilon"], delta=answer.given["delta"]))


SAID = [
    Said("success", f"With ε = {NUMBER}", "=", lambda a: a.given["epsilon"]),
    Said("success", f"right more than {NUMBER} %", "≤", lambda a: 100 * right(a)),
    Said("success", rf"= {NUMBER} \\quad", "≤", right),
    Said("concentrated", f"with ρ = {NUMBER}", "≤", lambda a: a.facts.rho),
    Said("concentrated", f"orders α up to {NUMBER}", "≥", lambda a: a.facts.omega),
    Said("concentrated", f"for α ≤ {NUMBER}", "≥", lambda a: a.facts.omega),
    Said("concentrated", f"orders, needs ρ = {NUMBER}", "≤", lambda a: 0.5 / a.given["noise_multiplier"] ** 2),
    Said("concentrated", f"mean from {NUMBER}", "≤", lambda a: a.facts.unsampled),
    Said("divergence", f"R\\(2\\) = {NUMBER}", "≤", lambda a: a.facts.divergence),
    Said("divergence", f"without sampling: {NUMBER}", "≤", lambda a: a.given["noise_multiplier"] ** -2),
    Said("divergence", f"steps cost ε ≤ {NUMBER}", "≤", lambda a: a.facts.epsilon),
    Said("densities", f"R\\(α\\) = {NUMBER}", "≤", lambda a: a.facts.divergence),
    Said("concentrated", rf"after T steps.*?≤ {NUMBER}", "≤", lambda a: a.facts.epsilon),
    Said("divergence", f"holds.*?(?<!whole )α ≤ {NUMBER}", "≥", lambda a: a.facts.closed_last),
    Said("thresholds", f"fixed at σ = {NUMBER}", "=", lambda a: a.given["noise_multiplier"]),
    Said("thresholds", f"gives ε ≤ {NUMBER}", "≤", lambda a: a.facts.best[0][1].value),
    Said("tail", f"at ε = {NUMBER}", "=", lambda a: a.given["epsilon"]),
    Said("tail", f"proves δ ≤ {NUMBER}", "≤", lambda a: a.facts.delta),
    Said("theorem1", f"For ε = {NUMBER}", "=", lambda a: a.given["epsilon"]),
    Said("theorem1", f"needs σ ≥ {NUMBER}", "≤", lambda a: a.facts.noise_multiplier),
    Said("theorem5", f"at most {NUMBER} times", "≤", lambda a: a.facts.ratio),
    Said("theorem5", f"−ln\\(1 − q\\) = {NUMBER}", "≤", lambda a: -math.log1p(-a.given["sample_rate"])),
    Said("sgm_figure1", f"σ² is {NUMBER}", "≥", lambda a: a.facts.least),
    Said("sgm_figure1", f"to {NUMBER} times", "≤", lambda a: a.facts.most),
    Said("risk", f"right at most {NUMBER} of 100 ", "≤", lambda a: 50 * (1 + a.given["after"]), "risk=advantage"),
    Said("risk", f"target: {NUMBER} %", "=", lambda a: 100 * a.given["after"], "risk=tpr"),
    Said("langevin_cost", f"of size η = {NUMBER}", "=", lambda a: a.given["step_size"]),
    Said("langevin_cost", f"cost ε ≤ {NUMBER} at", "≤", lambda a: a.facts.epsilon),
    Said("langevin_cost", f"claimed ε = {NUMBER}", "=", lambda a: a.given["claim"]),
    Said("langevin_epsilon", f"For ε ≤ {NUMBER}", "≤", lambda a: a.given["claim"]),
    Said("langevin_epsilon", f"allows η₁ = {NUMBER}", "≥", lambda a: a.facts.largest),
    Said("check", f"claimed ε = {NUMBER}", "=", lambda a: a.given["claimed"]),
]  # fmt: skip


def sentences(key: str, answer: Answer[Any]) -> str:
    """All that a question says, without tags."""

    def parts() -> Iterator[str]:
        question = QUESTIONS[key]
        yield headline(question, answer)
        for metric in question.metrics(answer):
            yield from metric
        for note in question.notes(answer):
            yield note.text
        for _, latex in question.formulas(answer):
            yield latex

    return html.unescape(re.sub(r"</?(b|i|sub|sup)>", "", " ".join(parts())))


def read(text: str) -> float:
    return float(text.replace(numbers.THIN, ""))


def settings(key: str, also: str, count: int) -> Iterator[dict[str, str]]:
    random = np.random.default_rng(34)
    more = dict(pair.split("=") for pair in also.split("&") if pair)
    for _ in range(count):
        drawn = {name: draw(random) for name, draw in DRAWN[key].items()}
        yield {QUESTIONS[key].settings[name].key: text for name, text in drawn.items()} | more


@pytest.mark.parametrize("said", SAID, ids=lambda said: f"{said.question}: {said.pattern.partition(NUMBER)[0]}")
@pytest.mark.one_of(3)
def test_a_number_in_a_sentence_is_on_the_safe_side(said: Said) -> None:
    found = 0
    for texts in settings(said.question, said.settings, 6):
        answer = asked(QUESTIONS[said.question], **texts)
        for written in re.findall(said.pattern, sentences(said.question, answer)):
            fact = said.fact(answer)
            assert SIDES[said.side](read(written.rstrip(".")), fact), (texts, written, fact)
            found += 1
    assert found, f"no sentence of {said.question!r} says “{said.pattern}”"


@pytest.mark.parametrize("digits", [2, 3, 4, 6])
def test_the_one_place_of_rounding_keeps_its_sides(digits: int) -> None:
    for value in np.exp(np.random.default_rng(1).uniform(-30, 30, 300)).tolist():
        low, high = (read(write(value, digits)) for write in (numbers.at_least, numbers.at_most))
        assert low <= value <= high <= low * (1 + 10.0 ** (2 - digits)) * (1 + 1e-9)
        assert read(numbers.entered(value)) == pytest.approx(value, rel=1e-11)
        assert float(numbers.delta(value)) >= value * (1 - 1e-12)
    for typed in ("0.36", "2.2", "1.1", "1e-5", "0.001", "60000", "5"):
        same = {numbers.at_least(float(typed)), numbers.at_most(float(typed)), numbers.entered(float(typed))}
        assert {read(one) for one in same} == {float(typed)}, "what is short is not rounded at all"


@pytest.mark.parametrize(
    ("after", "written"), [(0.0009, "50.045 of 100"), (1e-7, "50.000005 of 100"), (0.1, "55 of 100")]
)
def test_odds_never_round_to_guessing(after: float, written: str) -> None:
    assert odds((1 + after) / 2) == written


@pytest.mark.parametrize("delta", [1.23456789e-6, 1e-5, 2.0000001e-7, 1 / 60_000])
def test_delta_on_the_card_is_never_smaller_than_it_is(delta: float) -> None:
    card = Guarantee(losses=Losses(epsilon=1.0, delta=delta, profile=((1.0, delta),)), statements={}, replies={})
    assert float(card.loss("delta")) >= delta * (1 - 1e-12)
    assert float(card.points()[0][0]) >= delta * (1 - 1e-12)
    assert Guarantee(losses=Losses(epsilon=1.0, delta=1e-5), statements={}, replies={}).loss("delta") == "1e-5"

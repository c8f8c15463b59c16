"""Home's story: stops where one chart and its text say one thing each, for someone who has never met δ.

Whatever number a text says is of the answer that the chart shows, so that it follows σ and T.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dpviz.charts.plot import Plot
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import guessing
from dpviz.questions.answer import LATER, Answer
from dpviz.questions.attack import ATTACK
from dpviz.questions.attack.roc import ROC, RocFacts
from dpviz.questions.compose import COMPOSE
from dpviz.questions.compose.curves import ComposeFacts
from dpviz.questions.compose.question import GROWTH
from dpviz.questions.page import Page
from dpviz.questions.question import Question

MORE = 10.0  # how many times as many examples a batch has, to see what sampling buys


def own(answer: Answer[Any]) -> Plot:
    return answer.plot


@dataclass(frozen=True)
class Stop:
    """One stop.

    Attributes:
        title: what is asked.
        text: Markdown, with the numbers of the answer.
        headline: the result in plain words, as HTML.
        values: the settings, by their keys in links; the rest is at its defaults.
        question, page: what is drawn, and where it can be gone into.
        plot: what is drawn of an answer.
    """

    title: str
    text: Callable[[Answer[Any]], str]
    headline: Callable[[Answer[Any]], str]
    values: Mapping[str, str] = field(default_factory=dict)
    question: Question[Any] = GROWTH
    page: Page = COMPOSE
    plot: Callable[[Answer[Any]], Plot] = own


def last(answer: Answer[ComposeFacts], key: str) -> float:
    """A curve's ε after all steps."""
    return float(answer.facts.bounds[key].epsilon[-1])


def chance(answer: Answer[ComposeFacts]) -> guessing.Guess:
    """How often the best attack is right after all steps."""
    return guessing.guess(last(answer, "renyi_improved"), answer.given["delta"], answer.facts.accuracy)


def compose_headline(answer: Answer[ComposeFacts]) -> str:
    """What an attacker can make of it."""
    sigma, steps = answer.given["mechanism"].noise_multiplier, answer.given["steps"]
    return attacker(sigma, steps, last(answer, "renyi_improved"), chance(answer))


def attacker(sigma: float, steps: int, epsilon: float, guess: guessing.Guess) -> str:
    """How often an attacker is right, as HTML."""
    sentence = (
        f"With noise <b>σ = {numbers.plain(sigma)}</b>, after <b>{numbers.steps(steps)}</b> steps, an attacker "
        f"guesses right whether you took part at most <b>{guess.right}</b> of the time"
    )
    bound = f"<b>ε ≤ {_up(epsilon)}</b>"
    if guess.by_curve:
        return f"{sentence}, where 50 % is chance; {bound} and δ alone would allow {guess.alone}."
    return f"{sentence}{'' if guess.curve is None else f', by {bound} and δ alone'}."


def meaning(answer: Answer[ComposeFacts]) -> str:
    steps = f"{numbers.steps(answer.given['steps'])} noisy step{'s' if answer.given['steps'] > 1 else ''}"
    return (
        f"Someone trains a model in {steps} and shows them all. An attacker who knows everyone else's data guesses "
        "whether *you* took part. A coin is right half of the time; **ε** bounds how much better the attacker can be, "
        f"but for a small probability **δ**. Here **ε ≤ {_up(last(answer, 'renyi_improved'))}**. "
        "Move σ: less noise, and the curve shoots up."
    )


def strong_loses(answer: Answer[ComposeFacts]) -> str:
    strong, moments = last(answer, "strong"), last(answer, "moments")
    sentence = (
        "Each step leaks a little, and it adds up. **Strong composition** knows of a step only its own ε and δ, and "
        f"has to assume the worst shape of noise that fits: ε ≤ {_up(strong)}. The **moments accountant** follows the "
        f"shape of the Gaussian noise itself: ε ≤ **{_up(moments)}**"
    )
    if 0.0 < moments < strong < math.inf:
        ratio = numbers.plain(numbers.down(strong / moments, 2), digits=2)
        sentence += f", {ratio} times less for the very same training"
    return f"{sentence}. Move T to see them part."


def sampling_buys(answer: Answer[ComposeFacts]) -> str:
    rate, larger = answer.given["mechanism"].sample_rate, batches(answer)
    if larger is None:
        return "Here batches hold nearly all examples already: sampling buys nothing. Lower q to see it help."
    other = last(larger, "renyi_improved")
    return (
        f"An attacker does not know which steps saw you: each draws you with probability q = {numbers.plain(rate)}. "
        f"With batches {numbers.plain(MORE)} times as large, faded here, the same steps would cost ε ≤ {_up(other)} "
        f"instead of **{_up(last(answer, 'renyi_improved'))}**. Small random batches are much of what makes private "
        "training possible."
    )


def batches(answer: Answer[ComposeFacts]) -> Answer[ComposeFacts] | None:
    """The same with larger batches; None where they would not be."""
    mechanism = answer.given["mechanism"]
    if not 0.0 < mechanism.sample_rate * MORE <= 1.0:
        return None
    more = SampledGaussian(mechanism.noise_multiplier, mechanism.sample_rate * MORE)
    return GROWTH.asked({**answer.given, "mechanism": more})


def beside_larger(answer: Answer[ComposeFacts]) -> Plot:
    larger = batches(answer)
    if larger is None:
        return answer.plot
    name = f"q = {numbers.plain(larger.given['mechanism'].sample_rate)}"
    plot: Plot = answer.plot.beside([(name, larger.plot)])
    return plot


def truth(answer: Answer[ComposeFacts]) -> str:
    text = (
        "All curves are upper bounds, so which is right? The grey band is computed from the whole distribution of the "
        "privacy loss, from above and from below: the truth lies between, "
    )
    if answer.facts.tight is None or answer.facts.tight.soon:
        return f"{text}and is {LATER}."
    low, high = float(answer.facts.tight.lower[-1]), float(answer.facts.tight.upper[-1])
    if not (math.isfinite(high) and low > 0.0):
        return f"{text}but at this setting no grid resolves it."
    text += f"**{answer.facts.tight.last}** after all steps. "
    extra = 100.0 * (last(answer, "moments") / high - 1.0)
    if not 0.0 < extra < math.inf:
        return text
    return (
        f"{text}The moments accountant says at least {numbers.plain(numbers.down(extra, 2), digits=2)} % more: that is "
        "the price of its proof, paid in noise by whoever uses it."
    )


def seen(answer: Answer[RocFacts]) -> str:
    return (
        "An attacker may be bold or careful. To the right: how often an innocent is accused; upwards: how often a "
        "member is found. No attack lies above Rényi's curve, nor the tight one. One pair (ε, δ) draws a larger "
        "region than the mechanism really leaves: at even odds, the best attack is right at most "
        f"**{_percent(answer.facts.success)}** of the time."
    )


def _percent(share: float) -> str:
    return numbers.probability(share, up=True)


def _up(epsilon: float) -> str:
    return numbers.epsilon(epsilon, up=True)


STOPS = (
    Stop("What is ε?", meaning, compose_headline, {"curves": "moments.renyi_improved"}),
    Stop(
        "Why count moments?", strong_loses, compose_headline, {"curves": "strong.moments.renyi_improved", "logy": "1"}
    ),
    Stop(
        "What does sampling buy?", sampling_buys, compose_headline, {"curves": "renyi_improved", "logy": "1"},
        plot=beside_larger,
    ),
    Stop("And the truth?", truth, compose_headline, {"curves": "moments.renyi_improved.tight"}),
    Stop(
        "What does an attacker see?", seen, ROC.headline, {"aview": ROC.asked_as}, ROC, ATTACK
    ),
)  # fmt: skip

"""Home's story: stops where one chart and its text say one thing each, for someone who has never met δ.

Whatever number a text says is of the answer that the chart shows, so that it follows σ and T; they stand in story.toml.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

from dpviz.accounting.methods import BAYESIAN, Moments, Renyi, Strong
from dpviz.charts import Plot
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import Answer, Question, guessing
from dpviz.questions.attack import ATTACK
from dpviz.questions.attack.roc import ROC
from dpviz.questions.budget import BUDGET
from dpviz.questions.budget.stop import STOP
from dpviz.questions.compose import COMPOSE
from dpviz.questions.compose.curves import ComposeFacts
from dpviz.questions.compose.question import GROWTH
from dpviz.questions.langevin import LANGEVIN
from dpviz.questions.langevin.curves import COST
from dpviz.questions.page import Page
from dpviz.questions.words import say

TEXTS: Mapping[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


@dataclass(frozen=True)
class Now:
    """What texts say of an answer about composition beside its facts.

    Attributes:
        answer: what the chart shows.
        more: how many times as many examples a batch has, to see what sampling buys.
    """

    answer: Answer[ComposeFacts]
    more: float = 10.0

    def last(self, key: str) -> float:
        """A curve's ε after all steps."""
        return float(self.answer.facts.bounds[key].epsilon[-1])

    @property
    def epsilon(self) -> float:
        return self.last(Renyi().family)

    @property
    def guess(self) -> guessing.Guess:
        """How often the best attack is right after all steps."""
        return guessing.guess(self.epsilon, self.answer.given["delta"], self.answer.facts.accuracy)

    @property
    def times(self) -> float:
        """How many times less moments say than strong composition, rounded down; 0 where that is not to be said."""
        strong, moments = self.last(Strong.name), self.last(Moments.name)
        return numbers.down(strong / moments, 2) if 0.0 < moments < strong < math.inf else 0.0

    @property
    def larger(self) -> Now | None:
        """The same with larger batches; None where they would not be."""
        mechanism = self.answer.given["mechanism"]
        if not 0.0 < mechanism.sample_rate * self.more <= 1.0:
            return None
        more = SampledGaussian(mechanism.noise_multiplier, mechanism.sample_rate * self.more)
        return Now(GROWTH.asked({**self.answer.given, "mechanism": more}))

    @property
    def resolved(self) -> bool:
        """Whether a grid resolves the tight interval, which is there."""
        tight = self.answer.facts.tight
        return tight is not None and math.isfinite(tight.upper[-1]) and bool(tight.lower[-1] > 0.0)

    @property
    def price(self) -> float:
        """By how many per cent the moments accountant says more than the truth, rounded down; 0 for none."""
        tight = self.answer.facts.tight
        extra = 100.0 * (self.last(Moments.name) / float(tight.upper[-1]) - 1.0) if tight else 0.0
        return numbers.down(extra, 2) if 0.0 < extra < math.inf else 0.0


def beside_larger(answer: Answer[ComposeFacts]) -> Plot:
    """With the curve of larger batches, faded."""
    larger = Now(answer).larger
    if larger is None:
        return answer.plot
    name = f"q = {numbers.plain(larger.answer.given['mechanism'].sample_rate)}"
    plot: Plot = answer.plot.beside([(name, larger.answer.plot)])
    return plot


@dataclass(frozen=True)
class Stop:
    """One stop.

    Attributes:
        title: what is asked.
        key: of its text.
        values: the settings, by their keys in links; the rest is at its defaults.
        question, page: what is drawn, and where it can be gone into.
        plot: what is drawn of an answer.
        counts: whether its text says numbers of the answer; else the question's own headline does.
    """

    title: str
    key: str
    values: Mapping[str, str] = field(default_factory=dict)
    question: Question[Any] = GROWTH
    page: Page = COMPOSE
    plot: Callable[[Answer[Any]], Plot] = attrgetter("plot")
    counts: bool = True

    def text(self, answer: Callable[[], Answer[Any]]) -> str:
        """Markdown, with the numbers of the answer, which is asked for only where there are such."""
        if not self.counts:
            return say(TEXTS[self.key], {})
        now = Now(answer())
        return say(TEXTS[self.key], {**now.answer.given, "facts": now.answer.facts, "now": now})

    def headline(self, answer: Answer[Any]) -> str:
        """The result in plain words, as HTML."""
        if self.question is not GROWTH or not self.counts:
            return self.question.headline(answer)
        return say(TEXTS["attacker"], {**answer.given, "now": Now(answer)})


STOPS = (
    Stop("What does ε mean?", "meaning", {"curves": "moments.renyi_improved"}),
    Stop("Why count moments?", Moments.name, {"curves": "strong.moments.renyi_improved", "logy": "1"}),
    Stop("What does sampling buy?", "sampling", {"curves": Renyi().family, "logy": "1"}, plot=beside_larger),
    Stop("And the truth?", "truth", {"curves": "moments.renyi_improved.tight"}),
    Stop("What does an attacker see?", "seen", {"aview": ROC.asked_as}, ROC, ATTACK),
    Stop("What if data are typical?", "typical", {"curves": f"{Renyi().family}.{BAYESIAN}"}, counts=False),
    Stop("May I stop when I like?", "stopping", {"bview": STOP.asked_as}, STOP, BUDGET, counts=False),
    Stop("Can sampling give the noise?", "langevin", {"lview": COST.asked_as}, COST, LANGEVIN, counts=False),
)

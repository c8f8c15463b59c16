"""Home's story: stops where one chart and its text say one thing each, for someone who has never met δ.

Whatever number a text says is of the answer that the chart shows, so that it follows σ and T.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dpviz.accounting.methods import BAYESIAN, Moments, Renyi, Strong
from dpviz.charts import Plot
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import LATER, Answer, AnyAnswer, guessing
from dpviz.questions.attack import ATTACK
from dpviz.questions.attack.release import RELEASE
from dpviz.questions.attack.residents import RESIDENTS
from dpviz.questions.attack.roc import ROC, RocFacts
from dpviz.questions.budget import BUDGET
from dpviz.questions.budget.stop import STOP
from dpviz.questions.compose import COMPOSE
from dpviz.questions.compose.facts import ComposeFacts
from dpviz.questions.compose.question import GROWTH
from dpviz.questions.langevin import LANGEVIN
from dpviz.questions.langevin.cost import COST
from dpviz.questions.stops import Stop, results

MORE = 10.0  # how many times as many examples a batch has, to see what sampling buys


@dataclass(frozen=True)
class Now:
    """What texts say of an answer about composition beside its facts.

    Attributes:
        answer: what the chart shows.
    """

    answer: Answer[ComposeFacts]

    @property
    def steps(self) -> int:
        return self.answer.facts.steps

    @property
    def mechanism(self) -> SampledGaussian:
        """The only one that Home has."""
        mechanism = self.answer.facts.mechanism
        assert isinstance(mechanism, SampledGaussian)
        return mechanism

    def last(self, key: str) -> float:
        """A curve's ε after all steps."""
        return float(self.answer.facts.bounds[key].epsilon[-1])

    @property
    def epsilon(self) -> float:
        return self.last(Renyi().family)

    @property
    def guess(self) -> guessing.Guess:
        """How often the best attack is right after all steps."""
        return guessing.guess(self.epsilon, self.answer.facts.delta, self.answer.facts.accuracy)

    @property
    def times(self) -> float:
        """How many times less moments say than strong composition, rounded down; 0 where that is not to be said."""
        strong, moments = self.last(Strong.name), self.last(Moments.name)
        return numbers.rounded_down(strong / moments, 2) if 0.0 < moments < strong < math.inf else 0.0

    @property
    def larger(self) -> Now | None:
        """The same with larger batches; None where they would not be."""
        rate = self.mechanism.sample_rate * MORE
        if not 0.0 < rate <= 1.0:
            return None
        more = SampledGaussian(self.mechanism.noise_multiplier, rate)
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
        return numbers.rounded_down(extra, 2) if 0.0 < extra < math.inf else 0.0


def with_larger_batches(answer: Answer[ComposeFacts]) -> Plot:
    """With the curve of larger batches, faded."""
    larger, curves = Now(answer).larger, results(answer)
    if larger is None:
        return curves
    plot: Plot = curves.with_pinned([(f"q = {numbers.plain(larger.mechanism.sample_rate)}", larger.answer.plot)])
    return plot


def attack(answer: AnyAnswer) -> guessing.Guess | None:
    """How often the best attack is right; None where the answer is not about composition."""
    return Now(answer).guess if isinstance(answer.facts, ComposeFacts) else None


def attacker(answer: Answer[ComposeFacts]) -> str:
    """How often an attacker is right: the headline of every chart about composition."""
    now = Now(answer)
    guess, noise = now.guess, numbers.entered(now.mechanism.noise_multiplier)
    certain = guess.bound is not None and 1.0 - guess.bound < guessing.CERTAIN
    right = (
        f"With noise <b>σ = {noise}</b>, after <b>{numbers.steps(now.steps)}</b> step{'s' * (now.steps > 1)}, an "
        "attacker who guesses whether you took part "
        f"{'may be right <b>every time</b>' if certain else f'is right at most <b>{guess.right}</b> of the time'}"
    )
    epsilon = f"<b>ε ≤ {numbers.up(now.epsilon)}</b>"
    if guess.by_curve:
        return f"{right} (chance: 50 %). Knowing only {epsilon} and δ, one could not exclude {guess.alone}."
    return f"{right}." if guess.curve is None else f"{right}, by {epsilon} and δ alone."


def meaning(answer: Answer[ComposeFacts]) -> str:
    now = Now(answer)
    return (
        f"Someone trains a model in {numbers.steps(now.steps)} noisy step{'s' if now.steps > 1 else ''} and publishes "
        "every step. An attacker knows all other rows and guesses whether *yours* was used. Tossing a coin would be "
        "right half of the time. **ε** limits how much better the attacker can be, beside a small allowance **δ**. "
        f"Here **ε ≤ {numbers.up(now.epsilon)}**. With less noise σ, ε rises fast."
    )


def moments(answer: Answer[ComposeFacts]) -> str:
    now = Now(answer)
    less = f", {numbers.plain(now.times, digits=2)} times less for the same training" if now.times else ""
    return (
        "Each step reveals a little, and the privacy loss adds up over steps. **Strong composition** uses only ε and δ "
        "of each step, so it must hold for every mechanism with these ε and δ: ε ≤ "
        f"{numbers.up(now.last(Strong.name))}. The **moments accountant** uses the Gaussian noise itself: ε ≤ "
        f"**{numbers.up(now.last(Moments.name))}**{less}. **Rényi DP** uses more moments and a better conversion to ε: "
        f"ε ≤ {numbers.up(now.epsilon)}. Move T to see how the curves separate."
    )


def sampling(answer: Answer[ComposeFacts]) -> str:
    now = Now(answer)
    larger = now.larger
    if larger is None:
        return "Here the batches hold nearly all examples, so sampling does not help. Lower q to see its effect."
    return (
        "An attacker does not know which steps used your row: each step draws it with probability "
        f"q = {numbers.at_least(now.mechanism.sample_rate, 4)}. With batches {numbers.plain(MORE)} times as large "
        f"(faded curve), the same steps would cost ε ≤ {numbers.up(larger.epsilon)} instead of "
        f"**{numbers.up(now.epsilon)}**. Private training depends on small random batches."
    )


def truth(answer: Answer[ComposeFacts]) -> str:
    band = (
        "All curves are upper bounds. How close are they to the true ε? The grey band is computed from the whole "
        "distribution of the privacy loss, from above and from below. The true ε lies inside the band:"
    )
    now, tight = Now(answer), answer.facts.tight
    if tight is None or tight.soon:
        return f"{band} it is {LATER}."
    if not now.resolved:
        return f"{band} but for this setting the grid is too coarse to compute it."
    interval = f"{band} **{tight.last}** after all steps."
    if not now.price:
        return interval
    return (
        f"{interval} The moments accountant gives an ε that is at least {numbers.plain(now.price, digits=2)} % larger, "
        "so anyone who uses it must add more noise than necessary."
    )


def roc(answer: Answer[RocFacts]) -> str:
    return (
        "Here “member” means: was used for training. Each point is one attack: how often it accuses outsiders "
        "(across), and how often it finds members (up). No attack lies above the Rényi curve or the PLD "
        "curve. If you know only one pair (ε, δ), you must allow for more attacks than are possible. If both answers "
        "are equally likely, the best attack is right at most "
        f"**{numbers.chance_up(answer.facts.success)}** of the time."
    )


ONE_RELEASE = (
    "Before a whole training, one number. It is published with noise. The two curves show which outputs are likely "
    "without you and with you. **ε** says how far apart they may be: at every output, one is at most e^ε times the "
    "other. That is the grey band. **δ** is the area that may leave it. An attacker says “in” to the right of the "
    "dashed line. Wherever that line stands, the attacker is not right more often than the headline says."
)
TYPICAL = (
    "DP protects every possible row, even the most unusual one. **Bayesian DP** is weaker: it protects rows drawn from "
    "the same distribution as the data, but not outliers. Most gradients are much closer together than in the worst "
    "case, so ε_μ is smaller at the same noise. Its curve is orange and called “weaker” on every page."
)
TOWN = (
    "A town publishes its mean income with noise. The noise must protect the richest, so most residents lose far less "
    "than the ε of the release: the blue curve, for an attacker who knows all other incomes. **Bayesian DP** is about "
    "all but a share 1 − p of people like these: the further to the right, the more are left out. Here its curve is "
    "the authors' estimate, which is no bound."
)
# As in Triastcyn & Faltings 2020, §4.4.1; δ is the story's.
BY_PERCENTILE = {"aview": RESIDENTS.asked_as, "anoise": "gaussian", "target": "2"}
STOPPING = (
    "The curves so far hold for a number of steps that is fixed in advance. If you stop because of intermediate "
    "results, you need another accountant. An **odometer** gives an ε that holds at every step, at some extra cost. A "
    "**filter** fixes the budget first and allows steps until the budget is used up, at little or no extra cost."
)
SAMPLER = (
    "**Stochastic gradient Langevin dynamics (SGLD)** adds noise to every step to draw samples from a posterior. If "
    "gradients are clipped, the same noise gives privacy, and the step size determines how much. Move T; the step "
    "size sets the noise."
)


def growing(title: str, words: Callable[[AnyAnswer], str], values: Mapping[str, str], **more: Any) -> Stop:
    """A stop about composition, whose headline says how often an attacker is right."""
    return Stop(title, words, GROWTH, COMPOSE, values, says=attacker, **more)


STOPS = (
    growing("What does ε mean?", meaning, {"curves": "moments.renyi_improved"}),
    Stop("What does one release tell?", ONE_RELEASE, RELEASE, ATTACK, {"aview": RELEASE.asked_as}),
    growing("Why count moments?", moments, {"curves": "strong.moments.renyi_improved", "logy": "1"}),
    growing("What does sampling buy?", sampling, {"curves": Renyi().family, "logy": "1"}, plot=with_larger_batches),
    growing("And the truth?", truth, {"curves": "moments.renyi_improved.tight"}),
    Stop("What does an attacker see?", roc, ROC, ATTACK, {"aview": ROC.asked_as}),
    Stop("What if data are typical?", TYPICAL, GROWTH, COMPOSE, {"curves": f"{Renyi().family}.{BAYESIAN}"}),
    Stop("Who loses how much?", TOWN, RESIDENTS, ATTACK, BY_PERCENTILE),
    Stop("May I stop when I like?", STOPPING, STOP, BUDGET, {"bview": STOP.asked_as}),
    Stop("Langevin: can the sampler's own noise protect you?", SAMPLER, COST, LANGEVIN, {"lview": COST.asked_as}),
)

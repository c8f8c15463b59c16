"""The guarantee card of a plan or of a known deployment: what must be stated with an ε?"""

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from dpviz import library as dpviz
from dpviz.accounting.guarantee import Losses, losses_of, quick_losses
from dpviz.accounting.methods import Tight
from dpviz.accounting.tuning import Law
from dpviz.charts import Axis, Line, LinePlot, Ring, look
from dpviz.fields import numbers
from dpviz.mechanisms import Adjacency, Mechanism, PersonRows, ReplaceOneGaussian, SampledGaussian
from dpviz.questions import (
    DELTA,
    LATER,
    LAW,
    SIZE,
    STEPS,
    TRIED,
    Answer,
    Block,
    Folded,
    Formula,
    Metric,
    Note,
    Question,
    Words,
    cards,
    kinds,
    published,
    slow_facts,
)
from dpviz.questions.answer import PENDING, Pending
from dpviz.questions.guarantee.card import Guarantee
from dpviz.questions.guarantee.deployments import deployments
from dpviz.questions.guarantee.fields import ANSWERED, OF, PLAN, RUN_AS, STATED, layout, undecided
from dpviz.questions.guarantee.plan import guarantee
from dpviz.questions.guarantee.words import NO, PITFALLS, UNKNOWN, YES
from dpviz.questions.listing import Listing
from dpviz.questions.needed import too_slow


@dataclass(frozen=True)
class CardPlan:
    """Arguments of `dpviz.guarantee`."""

    mechanism: Mechanism
    steps: int
    delta: float
    size: int
    sampler: str
    runs: float
    law: Law
    answers: Mapping[str, str]
    statements: Mapping[str, Mapping[str, str]]

    def card(self, losses: Losses) -> Guarantee:
        return guarantee(
            mechanism=self.mechanism,
            steps=self.steps,
            delta=self.delta,
            size=self.size,
            sampler=self.sampler,
            runs=self.runs,
            law=self.law,
            answers=self.answers,
            statements=self.statements,
            losses=losses,
        )


@dataclass(frozen=True, eq=False)
class CardFacts:
    """What the card is made of.

    Attributes:
        of: "plan", or the key of a known deployment.
        plan: None of a deployment.
        losses: its numbers; PENDING while they are computed.
        quick: whether only those that follow a moving hand are there: ε and its profile.
    """

    of: str
    plan: CardPlan | None
    losses: Losses | Pending
    quick: bool = False

    @property
    def waits(self) -> bool:
        return isinstance(self.losses, Pending)

    @property
    def partial(self) -> bool:
        """Whether numbers beside ε are still to come."""
        return self.waits or self.quick

    @cached_property
    def card(self) -> Guarantee:
        """The card, without numbers while they are computed."""
        if self.plan is None:
            return deployments()[self.of]
        return self.plan.card(Losses(delta=self.plan.delta) if isinstance(self.losses, Pending) else self.losses)

    @property
    def unit(self) -> str:
        """Who is protected."""
        return self.card.statements["privacy_loss"]["privacy_unit"]

    @property
    def delta(self) -> str:
        delta = self.card.losses.delta
        return "0" if not delta else numbers.delta(delta)

    @property
    def epsilon(self) -> float | None:
        """A finite ε; None where there is none, or while it is computed."""
        return finite(self.card.losses.epsilon)

    @property
    def mu(self) -> float | None:
        """A finite μ of Gaussian DP; None where there is none, or while it is computed."""
        return finite(self.card.losses.mu)

    def names(self, answer: str) -> str:
        """The pitfalls with this answer."""
        return ", ".join(PITFALLS[name].name for name, reply in self.card.replies.items() if reply.answer == answer)


def finite(value: float | None) -> float | None:
    return None if value is None or math.isinf(value) else value


def guarantee_card(
    *,
    of: Annotated[str, OF],
    mechanism: Annotated[Mechanism, kinds.MECHANISM],
    steps: Annotated[int, STEPS],
    delta: Annotated[float, DELTA],
    size: Annotated[int, SIZE],
    runs: Annotated[int, TRIED],
    law: Annotated[Law, LAW],
    sampler: Annotated[str, RUN_AS],
    answers: Annotated[tuple[tuple[str, str], ...], ANSWERED],
    stated: Annotated[tuple[tuple[str, str, str], ...], STATED],
) -> Answer[CardFacts]:
    """The card; the privacy profile is its chart. Answers that the settings decide are left out."""
    if of != PLAN:
        facts = CardFacts(of, None, deployments()[of].losses)
        return Answer(profile(facts), facts)
    Tight().check(mechanism)
    if slow := too_slow(steps):
        raise ValueError(f"Choose fewer steps: {slow}.")
    if runs > 1:
        dpviz.tuned_epsilon(
            mechanism=mechanism, steps=0, delta=delta, runs=runs, law=law
        )  # says why it cannot be counted
    decided = undecided(mechanism.adjacency.unit == Adjacency.PERSON.unit, runs)
    given = {name: answer for name, answer in answers if name in decided}
    statements: dict[str, dict[str, str]] = {}
    for group, name, text in stated:
        statements.setdefault(group, {})[name] = text
    plan = CardPlan(mechanism, steps, delta, size, sampler, float(runs), law, given, statements)
    facts = CardFacts(of, plan, PENDING)
    return Answer(profile(facts), facts)


def profile(facts: CardFacts) -> LinePlot:
    """The privacy profile, with the pair that the card states; chords of its points bound δ, which is convex in e^ε."""
    losses = facts.losses
    points = {} if isinstance(losses, Pending) else dict(losses.profile)  # of several δ at one ε the least
    ends = np.array(list(points))
    x = np.unique(np.concatenate([np.linspace(*pair, 9) for pair in pairwise(ends)] or [ends]))
    y = np.interp(np.exp(x - ends[-1]), np.exp(ends - ends[-1]), list(points.values())) if points else x
    line = Line("profile", "at most", x, y, Tight.name)
    plot = LinePlot(
        x=Axis("ε", column="epsilon"),
        y=Axis("δ", column="delta", log=True, kind="delta"),
        lines=(line,) if points else (),
        end_values=False,
        summary="The privacy profile ε(δ)",
    )
    if isinstance(losses, Pending) or losses.epsilon is None or not losses.delta or math.isinf(losses.epsilon):
        return plot
    text = f"ε ≤ {numbers.up(losses.epsilon)} at δ = {facts.delta}"
    return replace(plot, rings=(Ring(losses.epsilon, losses.delta, text, look.GREY),))


def losses_key(answer: Answer[CardFacts]) -> Hashable | None:
    """What decides the numbers; None for a deployment, whose numbers are its publisher's."""
    plan = answer.facts.plan
    return None if plan is None else (plan.mechanism, plan.steps, plan.delta, plan.runs, plan.law)


def computed(answer: Answer[CardFacts]) -> dict[str, Any]:
    plan = answer.facts.plan
    assert plan is not None
    event = plan.mechanism, plan.steps
    return {"losses": losses_of((event,), plan.delta, plan.runs, plan.law), "quick": False}


def at_once(answer: Answer[CardFacts]) -> dict[str, Any]:
    """The numbers that take little time, of Gaussian steps: of the best of several runs these are all.

    A stop of another mechanism takes .2 to 1.2 s, too long for a moving hand.
    """
    plan = answer.facts.plan
    assert plan is not None
    mechanism = plan.mechanism
    if mechanism.as_gaussian is None and not isinstance(mechanism, SampledGaussian | ReplaceOneGaussian | PersonRows):
        return {}
    if plan.runs > 1.0:
        return computed(answer)
    return {"losses": quick_losses(mechanism, plan.steps, plan.delta), "quick": True}


def pitfalls(answer: Answer[CardFacts]) -> list[Block]:
    """The questions of an auditor, with their answers."""
    rows = [(question, f"**{reply}**", why) for question, reply, why in answer.facts.card.asked()]
    return [Listing(("Pitfall", "Answer", "Shown by"), tuple(rows), (3.4, 0.9, 3.0))]


def use_it(answer: Answer[CardFacts]) -> list[Block]:
    return [] if answer.facts.partial else files_of(answer.facts.card)


def files_of(card: Guarantee) -> list[Block]:
    """The card to read, and to copy."""
    return [
        Folded("The card", text=card.markdown(), open=True),
        Folded("As Markdown", source=card.markdown(), language="markdown"),
        Folded("As JSON, by the groups of the registry of deployments", source=card.json(), language="json"),
    ]


def headline(f: CardFacts) -> str:
    yes, no, unknown = (f.card.count(answer) for answer in (YES, NO, UNKNOWN))
    answers = (
        f"Answers to {len(f.card.replies)} questions about pitfalls: <b>{yes} yes</b>, <b>{no} no</b>, "
        f"<b>{unknown} not known</b>."
    )
    if f.waits:
        return f"ε is {LATER}. {answers}"
    if f.epsilon is None:
        return f"No finite ε is proven for {f.unit} with this noise. {answers}"
    return f"<b>ε ≤ {numbers.up(f.epsilon)}</b> at δ = {f.delta} for {f.unit}. {answers}"


def metrics(f: CardFacts) -> Iterator[Metric]:
    losses = f.card.losses
    missing = "…" if f.partial else "–"
    yield Metric("ε", bound(f.epsilon, "…" if f.waits else "–"), f"at δ = {f.delta}")
    regret = "" if f.quick else "not known"
    if f.mu is not None and losses.mu_regret is not None:
        regret = f"regret {numbers.up(losses.mu_regret, 2)}"
    yield Metric("μ of Gaussian DP", bound(f.mu, missing), regret)
    accuracy = losses.attack_accuracy
    yield Metric(
        "Best attack accuracy", missing if accuracy is None else f"≤ {numbers.chance_up(accuracy)}", "guessing: 50 %"
    )
    yield Metric("Pitfalls open", str(f.card.count(UNKNOWN) + f.card.count(NO)), f"of {len(f.card.replies)}")


def bound(value: float | None, missing: str) -> str:
    """An upper bound, or what stands in its place."""
    return missing if value is None else f"≤ {numbers.up(value)}"


def notes(f: CardFacts) -> Iterator[Note]:
    if f.card.count(NO):
        yield Note(f"The answer is no for: {f.names(NO)}. The guarantee does not cover this.", "caution")
    yield Note("The card as Markdown and as JSON for the registry of deployments is behind “Use it”.")


WHOLE_PROFILE = Formula(
    "The whole privacy profile",
    r"\Pr[M(D) \in S] \le e^\varepsilon \Pr[M(D') \in S] + \delta(\varepsilon)"
    r"\quad \text{for every } \varepsilon \ge 0",
)


def assumptions(f: CardFacts) -> str:
    return f"""
- **Numbers** are computed from the settings, as upper bounds; those of a known deployment are its publisher's, or
  follow from its ρ.
- **Between the points** of the profile, the chart shows chords, which are upper bounds too: δ is convex in e^ε.
- **Pitfalls** that the numbers decide are answered from them. All others are answered by whoever makes the card:
  nothing here checks a program or its data.
- **Not known** does not mean yes. A guarantee with an open pitfall may cover less than it seems.
{"" if f.plan is None else kinds.assumed(f.plan.mechanism)}
"""


GUARANTEE = Question(
    "guarantee",
    "Guarantee card: what to state",
    guarantee_card,
    Words(headline, metrics, notes, lambda _: (WHOLE_PROFILE,), assumptions),
    asks="epsilon",
    slow=(slow_facts(losses_key, computed, at_once, lambda answer: profile(answer.facts)),),
    layout=layout,
    presets=published("censuspersons", "gboardspanish", "appleemoji"),
    more={"Use it": use_it, "Accountants": lambda _: cards((Tight.name,))},
    below=pitfalls,
)

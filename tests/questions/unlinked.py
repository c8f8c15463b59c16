"""Answers that no link leads to everywhere: a rare draw, a failing accountant, an earlier run, data of one's own."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dpviz.accounting.claims import Claim
from dpviz.questions.answer import Answer
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.leakage.facts import measured
from dpviz.questions.needed import Need
from dpviz.questions.networks import RunNetwork
from dpviz.questions.question import Question
from dpviz.questions.source import Missing
from tests.questions.asking import answer_to
from tests.trained import TINY

SMALL = "membership?lkrun=small&lksteps=20&model=logistic&lkexamples=60"
CLAIM = Claim(epsilon=2.0, delta=1e-5, accountant="tight", covers="plan")


@dataclass(frozen=True)
class Unlinked:
    """A sentence with answers of its question.

    Attributes:
        text: a part of the sentence, as the page says it.
        on, off: make an answer that says it, and one that does not.
    """

    text: str
    question: Question[Any]
    on: Callable[[], Answer[Any]]
    off: Callable[[], Answer[Any]]


def changed(text: str, link: str, **facts: Any) -> Unlinked:
    """The answer to a link with other facts: values, or functions of its facts."""

    def on() -> Answer[Any]:
        answer = answer_to(link)
        values = {name: value(answer.facts) if callable(value) else value for name, value in facts.items()}
        return replace(answer, facts=replace(answer.facts, **values))

    return Unlinked(text, QUESTIONS[link.partition("?")[0]], on, partial(answer_to, link))


def of_network(text: str, network: Any = None, **facts: Any) -> Unlinked:
    """A network of a run, 60 examples of which an invented measurement has; without `network`, one with a claim."""

    def on() -> Answer[Any]:
        found = measured(run_network() if network is None else network)
        values = {name: value(found) if callable(value) else value for name, value in facts.items()}
        return replace(answer_to(SMALL), facts=replace(found, **values))

    return Unlinked(text, QUESTIONS["membership"], on, partial(answer_to, SMALL))


def run_network(claim: Claim = CLAIM, **settings: Any) -> RunNetwork:
    """What a run with this claim left behind."""
    return RunNetwork("A run", "a", 1, TINY.with_(**settings).to_json(), "weights.pt", 60, 0, claim)


def sure_of_outlier(facts: Any) -> Any:
    """Every guess about the outlier was right, for certain."""
    return replace(facts.outlier, accuracy_low=np.ones_like(facts.outlier.accuracy_low))


UNLINKED = (
    changed("PLD region: no finite ε", "roc", problem="no finite ε"),
    changed("The measured accuracy is above the bound for the outlier", "town", outlier=sure_of_outlier),
    changed("No noise reaches this target: none will do", "risk", need=Need(None, "none will do")),
    changed("The disk is full.", "audit", problem="The disk is full."),
    changed(
        "The claim holds on condition that the initial parameters and optimiser state did not use these data",
        "train",
        settings=lambda facts: facts.settings.with_(start_from="weights.pt"),
    ),
    Unlinked(
        "no ε here covers what they reveal",
        QUESTIONS["train"],
        partial(answer_to, "train?t_data=own:tea&t_model=mlp&t_batch_size=4"),
        partial(answer_to, "train"),
    ),
    of_network("The disk is full.", Missing(run_network(), "The disk is full.", coming=False)),
    of_network("above the bound", attack=lambda facts: facts.attack._replace(low=0.9999)),
    of_network(
        "There are only 40 test examples, so 40 of each kind were used.",
        sample=lambda facts: replace(facts.sample, examples=40),
    ),
    of_network(
        "3 pairs have no distance because a gradient is not finite.",
        sample=lambda facts: replace(facts.sample, excluded_pairs=3),
    ),
    of_network("Equal mean distances? | – | too few finite gradients", comparison=None),
    of_network(
        "The bounds hold on condition that the initial parameters and optimiser state did not use these data",
        run_network(start_from="weights.pt"),
    ),
    of_network(
        "what was seen decides about its steps.", run_network(Claim.nothing("what was seen decides about its steps"))
    ),
    of_network(
        "The claim ε ≤ 2.00 (filter's budget):",
        run_network(Claim(epsilon=2.0, delta=1e-5, accountant="filter", covers="adaptive")),
    ),
)

"""Filters and odometers: Figs. 1 and 2 of Lécuyer 2021, drawn from the author's records of the runs."""

from collections.abc import Iterable
from typing import Annotated, Any

import pandas as pd

from dpviz.fields import choice, numbers
from dpviz.questions import Answer, Block, Formula, Metric, Note, Question, Words
from dpviz.questions.papers import adaptive_accuracy as accuracy
from dpviz.questions.papers import adaptive_fine_tuning as fine_tuning
from dpviz.questions.papers import adaptive_from_scratch as from_scratch
from dpviz.questions.papers.adaptive_accounts import AS_PLOTTED, ASSUMPTIONS, SOUND, span, spent
from dpviz.questions.papers.adaptive_accuracy import AccuracyFacts
from dpviz.questions.papers.adaptive_fine_tuning import FineTuningFacts
from dpviz.questions.papers.adaptive_from_scratch import ScratchFacts
from dpviz.questions.papers.claims import listing
from dpviz.questions.printed import CLAIMS
from dpviz.questions.printed.filters import RUNS

AdaptiveFacts = AccuracyFacts | ScratchFacts | FineTuningFacts
WORDS: dict[type, Words[Any]] = {
    AccuracyFacts: accuracy.WORDS,
    ScratchFacts: from_scratch.WORDS,
    FineTuningFacts: fine_tuning.WORDS,
}
ACCURACIES = ("fo-accuracy-baseline", "fo-accuracy-noise", "fo-accuracy-batch", "fo-gain")
# The printed claims about each figure.
ROWS = {
    "1a": ACCURACIES,
    "gain": ACCURACIES,
    "1b": ("fo-3x", "fo-corollary1"),
    "1c": ("fo-3x", "fo-accuracy-noise", "fo-gain"),
    "1d": ("fo-accuracy-batch",),
    "2a": ("fo-epochs-fixed",),
    "2b": ("fo-planned", "fo-epoch20", "fo-epoch6", "fo-epochs-fixed"),
    "2c": ("fo-epochs-fixed", "fo-epoch8"),
    "2d": ("fo-epoch8",),
}


def redrawn(*, part: Annotated[str, choice("ppart")]) -> Answer[AdaptiveFacts]:
    """The figure's curves from the records, and our account beside them."""
    if part in ("2b", "2d"):
        return fine_tuning.fine_tuning(part)
    return from_scratch.from_scratch(part) if part in ("1b", "1c", "1d") else accuracy.accuracy(part)


def headline(f: AdaptiveFacts) -> str:
    return WORDS[type(f)].headline(f)


def metrics(f: AdaptiveFacts) -> Iterable[Metric]:
    return WORDS[type(f)].metrics(f)


def notes(f: AdaptiveFacts) -> Iterable[Note]:
    return WORDS[type(f)].notes(f)


def formulas(f: AdaptiveFacts) -> Iterable[Formula]:
    return WORDS[type(f)].formulas(f)


def printed_claims(answer: Answer[AdaptiveFacts]) -> list[Block]:
    """What the paper prints of the figure."""
    return [listing([claim for claim in CLAIMS if claim.key in ROWS[answer.facts.part]])]


def runs(_: Answer[AdaptiveFacts]) -> list[Block]:
    """A row for each run of Fig. 1."""
    rows = [
        {
            "run": f"{policy} {i}",
            "epochs": f"{run.epochs}",
            "last test accuracy": numbers.probability(run.accuracy[-1]),
            "ε, as plotted": span([spent(AS_PLOTTED, run, False)[-1]]),
            "ε, all charged": span([spent(SOUND, run, True)[-1]]),
        }
        for policy, several in RUNS.items()
        for i, run in enumerate(several, 1)
    ]
    return [pd.DataFrame(rows)]


ADAPTIVE = Question(
    "adaptive",
    "Filters and odometers, Figs. 1 and 2: the author's records",
    redrawn,
    Words(headline, metrics, notes, formulas, ASSUMPTIONS),
    asks="plotted",
    more={"Printed and computed": printed_claims, "The runs": runs},
)

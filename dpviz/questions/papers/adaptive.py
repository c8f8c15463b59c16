"""Filters and odometers: Figs. 1b to 1d, 2b and 2d of Lécuyer 2021, drawn from the author's records of the runs."""

from collections.abc import Iterable
from typing import Annotated

import pandas as pd

from dpviz.fields import choice, numbers
from dpviz.questions import Answer, Block, Formula, Metric, Note, Question, Words
from dpviz.questions.papers import adaptive_fine_tuning as fine_tuning
from dpviz.questions.papers import adaptive_from_scratch as from_scratch
from dpviz.questions.papers.adaptive_accounts import AS_PLOTTED, ASSUMPTIONS, SOUND, span, spent
from dpviz.questions.papers.adaptive_fine_tuning import FineTuningFacts
from dpviz.questions.papers.adaptive_from_scratch import ScratchFacts
from dpviz.questions.papers.claims import listing
from dpviz.questions.printed import CLAIMS
from dpviz.questions.printed.filters import RUNS

AdaptiveFacts = ScratchFacts | FineTuningFacts
# The printed claims about each figure.
ROWS = {
    "1b": ("fo-3x", "fo-corollary1", "fo-accuracy-baseline", "fo-accuracy-noise", "fo-accuracy-batch"),
    "1c": ("fo-3x", "fo-accuracy-noise", "fo-gain"),
    "1d": ("fo-accuracy-batch",),
    "2b": ("fo-planned", "fo-epoch20", "fo-epoch6", "fo-epochs-fixed"),
    "2d": ("fo-epoch8",),
}


def redrawn(*, part: Annotated[str, choice("ppart")]) -> Answer[AdaptiveFacts]:
    """The figure's curves from the records, and our account beside them."""
    return fine_tuning.fine_tuning(part) if part.startswith("2") else from_scratch.from_scratch(part)


def headline(f: AdaptiveFacts) -> str:
    return fine_tuning.headline(f) if isinstance(f, FineTuningFacts) else from_scratch.headline(f)


def metrics(f: AdaptiveFacts) -> Iterable[Metric]:
    return fine_tuning.metrics(f) if isinstance(f, FineTuningFacts) else from_scratch.metrics(f)


def notes(f: AdaptiveFacts) -> Iterable[Note]:
    return fine_tuning.notes(f) if isinstance(f, FineTuningFacts) else from_scratch.notes(f)


def formulas(f: AdaptiveFacts) -> Iterable[Formula]:
    return fine_tuning.formulas(f) if isinstance(f, FineTuningFacts) else from_scratch.formulas(f)


def printed_claims(answer: Answer[AdaptiveFacts]) -> list[Block]:
    """What the paper prints of the figure."""
    return [listing([claim for claim in CLAIMS if claim.key in ROWS[answer.facts.part]])]


def runs(_: Answer[AdaptiveFacts]) -> list[Block]:
    """A row for each run of Fig. 1."""
    rows = [
        {
            "run": f"{policy} {i}",
            "epochs": f"{run.epochs}",
            "last test accuracy": numbers.probability(run.accuracy),
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

"""What the Runs page shows: which runs, compared how. Named in the link."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dpviz.accounting.adaptive.odometer import OdometerAccountant
from dpviz.accounting.methods import PROVERS
from dpviz.accounting.renyi.accountant import Moments, Renyi
from dpviz.fields.field import Choice, Field, Several
from dpviz.training.data import DATA_SETS
from dpviz.ui.train.fields import METHOD
from dpviz.ui.train.words import STATE_WORDS

MOST = 8


@dataclass(frozen=True)
class Ids(Field[tuple[str, ...]]):
    """Ids of runs, with dots between them."""

    def parse(self, text: str) -> tuple[str, ...]:
        found = tuple(dict.fromkeys(part for part in text.split(".") if part))
        wrong = [part for part in found if not re.fullmatch(r"[0-9a-zA-Z-]{1,64}", part)]
        if wrong:
            raise ValueError(f"{self.label}: “{wrong[0][:40]}” is no run's id.")
        return found[:MOST]

    def write(self, value: tuple[str, ...]) -> str:
        return ".".join(value)


@dataclass(frozen=True)
class Words(Field[str]):
    """Free text of at most 100 characters."""

    def parse(self, text: str) -> str:
        return text[:100]

    def write(self, value: str) -> str:
        return value


CHOSEN = Ids(key="runs", label="Runs", default=())
TEXT = Words(key="r_text", label="Search", default="", help="Part of a name or a note.")
STATE = Several(
    key="r_state",
    label="State",
    default=(),
    options={key: word.lower() for key, word in STATE_WORDS.items()},
    help="None: all.",
)
DATA_FILTER = Choice(
    key="r_data",
    label="Data",
    default="all",
    options={"all": "all data"} | {key: data.title for key, data in DATA_SETS.items()},
)
METHOD_FILTER = Choice(
    key="r_method", label="Method", default="all", options={"all": "all methods"} | {**METHOD.options}
)
VIEW = Choice(
    key="r_view",
    label="Compare",
    default="frontier",
    options={"epsilon": "ε", "accuracy": "Accuracy", "frontier": "Accuracy against ε"},
    help="What of the chosen runs is drawn.",
)
ACCOUNTANT = Choice(
    key="r_acc",
    label="ε read from",
    default="claim",
    options={"claim": "the claim"} | {each.name: PROVERS[each.name] for each in (Renyi, Moments, OdometerAccountant)},
    help="The claim is what could have been said had a run ended there; Rényi and moments read the end as planned.",
)
FIELDS = (CHOSEN, TEXT, STATE, DATA_FILTER, METHOD_FILTER, VIEW, ACCOUNTANT)

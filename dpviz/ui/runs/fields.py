"""What the Runs page shows: which runs, compared how. Named in the link."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dpviz.accounting.adaptive.odometer import OdometerAccountant
from dpviz.accounting.methods import PROVERS
from dpviz.accounting.renyi.accountant import Moments, Renyi
from dpviz.fields.declared import choice, field, several
from dpviz.fields.field import Field
from dpviz.training.data import DATA_SETS
from dpviz.training.methods import METHODS
from dpviz.ui.train.words import STATE_WORDS

MOST = 8


@dataclass(frozen=True)
class Ids(Field[tuple[str, ...]]):
    """Ids of runs, with dots between them."""

    def parse(self, text: str) -> tuple[str, ...]:
        runs = tuple(dict.fromkeys(part for part in text.split(".") if part))
        wrong = [run for run in runs if not re.fullmatch(r"[0-9a-zA-Z-]{1,64}", run)]
        if wrong:
            raise ValueError(f"{self.label}: “{wrong[0][:40]}” is no run's id.")
        return runs[:MOST]

    def write(self, value: tuple[str, ...]) -> str:
        return ".".join(value)


@dataclass(frozen=True)
class Words(Field[str]):
    """Free text of at most 100 characters."""

    def parse(self, text: str) -> str:
        return text[:100]

    def write(self, value: str) -> str:
        return value


CHOSEN = field(Ids, "runs")
TEXT = field(Words, "r_text")
STATE = several("r_state", options={key: word.lower() for key, word in STATE_WORDS.items()})
DATA_FILTER = choice("r_data", options={"all": "all data"} | {key: data.title for key, data in DATA_SETS.items()})
METHOD_FILTER = choice("r_method", options={"all": "all methods"} | {key: kind.label for key, kind in METHODS.items()})
VIEW = choice("r_view")
ACCOUNTANT = choice(
    "r_acc",
    options={"claim": "the claim"} | {each.name: PROVERS[each.name] for each in (Renyi, Moments, OdometerAccountant)},
)
FIELDS = (CHOSEN, TEXT, STATE, DATA_FILTER, METHOD_FILTER, VIEW, ACCOUNTANT)

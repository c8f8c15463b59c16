"""Fields of the Runs and Train pages as links name them: chosen runs, filters, view; the watched run and its charts."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpviz.accounting.methods import PROVERS, MixtureOdometer, Moments, Renyi
from dpviz.fields.declared import choice, field, several
from dpviz.fields.field import Field, Text
from dpviz.questions.train import PAGE
from dpviz.runs.store.records import STATES
from dpviz.training.data import DATA_SETS
from dpviz.training.methods import METHODS
from dpviz.training.settings import Id

MOST = 8
CHART_TABLE: dict[str, Any] = tomllib.loads((Path(__file__).parent / "charts.toml").read_text("utf-8"))
CHARTS = {key: row["title"] for key, row in CHART_TABLE.items()}
STATE_WORDS = {state: state.capitalize() for state in STATES} | {"queued": "Waiting"}


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


CHOSEN = field(Ids, "runs")
TEXT = field(Text, "r_text")
STATE = several("r_state", options={key: word.lower() for key, word in STATE_WORDS.items()})
DATA_FILTER = choice("r_data", options={"all": "all data"} | {key: data.title for key, data in DATA_SETS.items()})
METHOD_FILTER = choice("r_method", options={"all": "all methods"} | {key: kind.label for key, kind in METHODS.items()})
VIEW = choice("r_view")
ACCOUNTANT = choice(
    "r_acc",
    options={"claim": "the claim"} | {each.name: PROVERS[each.name] for each in (Renyi, Moments, MixtureOdometer)},
)
FIELDS = (CHOSEN, TEXT, STATE, DATA_FILTER, METHOD_FILTER, VIEW, ACCOUNTANT)

RUN = field(Id, "run")
CHART = choice("t_chart", options=CHARTS)
SECOND = choice("t_second", options={"none": "none"} | CHARTS)
WATCHED = (RUN, CHART, SECOND)
TRAIN = (*PAGE.fields, *WATCHED)  # all that the Train page shows

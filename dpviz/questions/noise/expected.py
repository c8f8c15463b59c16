"""Which accuracy may be expected at this ε: recorded and published runs on a data set, one point each."""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Annotated, Any

import numpy as np
import pandas as pd

from dpviz import library as dpviz
from dpviz._remember import remembered
from dpviz.accounting.methods import Tight
from dpviz.charts import Guide, Point, Ring, look
from dpviz.experiments.record import Spread, recorded
from dpviz.fields import choice, flag, numbers
from dpviz.questions import DELTA, Answer, Block, Compound, Reader, make_question, rows, tables_of
from dpviz.questions.chart_tables import attributes, chart
from dpviz.questions.noise.needs import TARGET
from dpviz.questions.printed import adult

ROOM = "noise/expected"
DATA, OWN = choice("accdata"), flag("accown")
LEAST = 1e-3  # ε that is shown
OF_ADULT = {"sgld": ("Rényi", adult.DELTA), "sample": ("pure DP", 0.0)}  # accountant and δ of these recorded methods


@dataclass(frozen=True)
class Reached:
    """What one method reached on test data, and at which ε.

    Attributes:
        method: in words, with the number of training examples where a data set has several.
        source: who measured it.
        epsilon, delta: of adding or removing one example.
        accountant: whose ε it is.
        accuracy: the mean over the runs.
        low, high: the lowest and the highest of them.
        runs: how many; 0 where that was not published.
        note: what else has to be known of the ε.
    """

    method: str
    source: str
    epsilon: float
    delta: float
    accountant: str
    accuracy: float
    low: float
    high: float
    runs: int
    note: str = ""

    @property
    def span(self) -> str:
        """The lowest and the highest run; empty where there is one."""
        return f"{numbers.tenths(self.low)} to {numbers.tenths(self.high)}" if self.low < self.high else ""

    @property
    def counted(self) -> str:
        """How many runs it is a mean of."""
        return {0: "runs not stated", 1: "one run"}.get(self.runs, f"mean of {self.runs} runs")

    @property
    def bound(self) -> str:
        """Its ε and δ; ε is rounded up, but for what was printed."""
        return f"ε = {numbers.epsilon(self.epsilon, up=self.runs > 0)} at δ = {numbers.delta(self.delta)}"

    @property
    def text(self) -> str:
        """All of it, as a hover's HTML."""
        bound = f"{self.bound} ({self.accountant})"
        spread = f" ({self.span})" * bool(self.span)
        reached = f"{self.method}: {numbers.tenths(self.accuracy)}{spread}"
        parts = (reached, bound, f"{self.source}, {self.counted}", self.note)
        return "<br>".join(map(escape, filter(None, parts)))


@dataclass(frozen=True)
class Expected:
    """The points of a data set.

    Attributes:
        data: its name.
        target, delta: what is asked for.
        measured, published, own: the points: recorded with dpviz, printed in papers, in the store of this machine.
    """

    data: str
    target: float
    delta: float
    measured: tuple[Reached, ...]
    published: tuple[Reached, ...]
    own: tuple[Reached, ...]

    def best(self, points: Sequence[Reached]) -> Reached | None:
        """The most accurate of those that promise at least (ε, δ) as asked; None where there is none."""
        kept = [one for one in points if one.epsilon <= self.target * (1.0 + 1e-9) and one.delta <= self.delta]
        return max(kept, key=lambda one: one.accuracy, default=None)

    @property
    def other_delta(self) -> list[str]:
        """Methods whose ε is at a δ larger than the one asked for."""
        points = (*self.measured, *self.published, *self.own)
        named = (f"{one.method} (δ = {numbers.delta(one.delta)})" for one in points if one.delta > self.delta)
        return list(dict.fromkeys(named))


def measured(table: dict[str, Any], delta: float) -> list[Reached]:
    """The points of one method that was recorded with dpviz, by ascending ε."""
    method, source = table["method"], "measured with dpviz"
    if "adult" in table:
        accountant, delta = OF_ADULT[table["adult"]]
        arms = adult.reached_on_adult(table["adult"], "added")
        costs = [(arm.epsilon, adult.adult_record().values(arm.arm, "test_accuracy")) for arm in arms]
    else:
        accountant, record = Tight().short_label, recorded(table["record"])
        accuracy = table.get("accuracy", "test_accuracy")
        costs = [(epsilon_of(table["record"], arm, delta), record.values(arm, accuracy)) for arm in table["arms"]]
    points = []
    for epsilon, values in costs:
        mean, low, high = Spread.of(values)
        points.append(Reached(method, source, epsilon, delta, accountant, mean, low, high, int(values.size)))
    return sorted(points, key=lambda one: one.epsilon)


@remembered
def epsilon_of(key: str, arm: str, delta: float) -> float:
    """ε of the steps that an arm of a record made, by the numerical (PLD) accountant."""
    record, settings = recorded(key), recorded(key).settings[arm]
    examples, steps = (int(record.values(arm, name)[0]) for name in ("examples", "steps"))
    rate = settings["batch_size"] / examples
    run = {"noise_multiplier": settings["noise_multiplier"], "sample_rate": rate, "steps": steps}
    return float(dpviz.epsilon(Tight.name, **run, delta=delta))


def published(table: dict[str, Any]) -> list[Reached]:
    """The points of one method in a paper, as printed."""
    shared = {name: table[name] for name in ("method", "source", "delta", "accountant")}
    return [
        Reached(**shared, epsilon=epsilon, accuracy=share, low=share, high=share, runs=0, note=table.get("note", ""))
        for epsilon, share in table["points"]
    ]


def own_runs(get: Reader) -> tuple[Reached, ...]:
    """The runs of this machine's store on the chosen data; none where they are not asked for."""
    if not get(OWN):
        return ()
    # Only where runs are asked for: what looks at them is not there wherever questions are.
    own: tuple[Reached, ...] = importlib.import_module("dpviz.questions.noise.own_runs").reached(get(DATA))
    return own


OWN_RUNS = Compound((OWN,), own_runs, lambda runs: {OWN.key: OWN.write(bool(runs))})


def expected(
    *,
    target_epsilon: Annotated[float, TARGET],
    delta: Annotated[float, DELTA],
    data: Annotated[str, DATA],
    runs: Annotated[tuple[Reached, ...], OWN_RUNS],
) -> Answer[Expected]:
    """Accuracy against ε: what was measured with its lowest and highest run, what was printed as diamonds."""
    methods = [table for table in tables_of(ROOM)["methods"] if table["data"] == data]
    points = [measured(t, delta) if "source" not in t else published(t) for t in methods]
    facts = Expected(
        DATA.options[data],
        target_epsilon,
        delta,
        tuple(one for each in points for one in each if one.runs),
        tuple(one for each in points for one in each if not one.runs),
        runs,
    )
    curves, rings, diamonds = {}, [], []
    for table, each in zip(methods, points, strict=True):
        style = attributes({"color": table["color"]})
        name = table["method"] if "source" not in table else f"{table['method']}, {table['source']}"
        own = {"x": [one.epsilon for one in each], "y": [one.accuracy for one in each], "name": name}
        curves[table["key"]] = own | style | {"end": table["end"], "approximate": "source" in table, "label": name}
        if "source" in table:
            diamonds += [Point(one.epsilon, one.accuracy, one.text, Tight.name) for one in each]
        else:
            rings += [Ring(one.epsilon, one.accuracy, one.text, style["color"], one.low, one.high) for one in each]
    rings += [Ring(one.epsilon, one.accuracy, one.text, look.GREY) for one in runs]
    everything = (*facts.measured, *facts.published, *runs)
    epsilons = sorted({max(one.epsilon, LEAST) for one in everything})
    low, high = min(one.low for one in everything), max(one.high for one in everything)
    plot = chart(
        ROOM,
        "expected",
        np.empty(0),
        curves,
        x_axis={"shown": (0.8 * epsilons[0], max(epsilons[-1], 1.0)), "marks": tuple(epsilons)},
        y_axis={"shown": (low - 0.05 * (high - low) - 0.005, min(1.0, high + 0.1 * (high - low) + 0.005))},
        rings=tuple(rings),
        points=tuple(diamonds),
        guides=(Guide("x", target_epsilon, f"target ε = {numbers.plain(target_epsilon)}"),),
    )
    return Answer(plot, facts)


def points(answer: Answer[Expected]) -> list[Block]:
    """A row a point."""
    return [pd.DataFrame(rows(ROOM, "points", answer.facts))]


EXPECTED = make_question(
    f"{ROOM}/expected",
    expected,
    {"Question": (TARGET, DELTA, DATA, OWN)},
    more={"The runs": points},
    option="accuracy",
)

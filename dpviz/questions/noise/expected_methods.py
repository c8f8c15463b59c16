"""Methods whose accuracy at an ε is known on a data set: recorded with dpviz, or printed in a paper."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpviz import library as dpviz
from dpviz._remember import remembered
from dpviz.accounting.methods import Tight
from dpviz.charts import look
from dpviz.experiments.record import Spread, recorded
from dpviz.fields.tables import made
from dpviz.questions.noise.reached import Reached
from dpviz.questions.printed import adult

OF_ADULT = {"sgld": ("Rényi", adult.DELTA), "sample": ("pure DP", 0.0)}  # accountant and δ of these recorded methods


@dataclass(frozen=True, kw_only=True)
class RecordedMethod:
    """What was recorded with dpviz.

    Attributes:
        key: of its line.
        data: a key of the data sets.
        method: in words.
        end: what the end of its line is called.
        color: "#rrggbb".
        record, arms: the experiment, and its arms with this method.
        accuracy: what the record calls it.
    """

    published: ClassVar[bool] = False

    key: str
    data: str
    method: str
    end: str
    color: str
    record: str
    arms: tuple[str, ...]
    accuracy: str = "test_accuracy"

    @property
    def name(self) -> str:
        return self.method

    def points(self, delta: float) -> list[Reached]:
        """A point an arm, at δ, by ascending ε."""
        record, accountant = recorded(self.record), Tight().short_label
        points = []
        for arm in self.arms:
            epsilon = recorded_epsilon(self.record, arm, delta)
            points.append(of_seeds(self.method, epsilon, delta, accountant, record.values(arm, self.accuracy)))
        return sorted(points, key=lambda one: one.epsilon)


@dataclass(frozen=True, kw_only=True)
class AdultMethod:
    """What was recorded on Adult with an ε of its own; `arms` is what the record's arms of it begin with."""

    published: ClassVar[bool] = False

    key: str
    data: str
    method: str
    end: str
    color: str
    arms: str

    @property
    def name(self) -> str:
        return self.method

    def points(self, delta: float) -> list[Reached]:
        """A point an arm, at the δ of its accounting, whichever is asked for; by ascending ε."""
        accountant, delta = OF_ADULT[self.arms]
        points = []
        for arm in adult.reached_on_adult(self.arms, "added"):
            accuracies = adult.adult_record().values(arm.arm, "test_accuracy")
            points.append(of_seeds(self.method, arm.epsilon, delta, accountant, accuracies))
        return sorted(points, key=lambda one: one.epsilon)


@dataclass(frozen=True, kw_only=True)
class PublishedMethod:
    """What a paper printed.

    Attributes:
        key, data, method, end, color: as of `RecordedMethod`.
        source: the paper.
        accountant: whose ε it is.
        delta: of the paper.
        printed: (ε, accuracy), by ascending ε.
        note: what else has to be known of it.
    """

    published: ClassVar[bool] = True

    key: str
    data: str
    method: str
    end: str
    source: str
    accountant: str
    delta: float
    printed: tuple[tuple[float, float], ...]
    note: str = ""
    color: str = look.GREY

    @property
    def name(self) -> str:
        return f"{self.method}, {self.source}"

    def points(self, delta: float) -> list[Reached]:
        """As printed, whichever δ is asked for."""
        return [
            Reached(
                method=self.method,
                source=self.source,
                epsilon=epsilon,
                delta=self.delta,
                accountant=self.accountant,
                accuracy=accuracy,
                low=accuracy,
                high=accuracy,
                runs=0,
                note=self.note,
            )
            for epsilon, accuracy in self.printed
        ]


def of_seeds(
    method: str, epsilon: float, delta: float, accountant: str, accuracies: npt.NDArray[np.float64]
) -> Reached:
    """The point of one arm with the accuracies of all its seeds, shape (seeds,)."""
    mean, low, high = Spread.of(accuracies)
    runs = int(accuracies.size)
    return Reached(method, "measured with dpviz", epsilon, delta, accountant, mean, low, high, runs)


@remembered
def recorded_epsilon(key: str, arm: str, delta: float) -> float:
    """ε of the steps that an arm of a record made, by the PLD accountant."""
    record, settings = recorded(key), recorded(key).settings[arm]
    examples, steps = (int(record.values(arm, name)[0]) for name in ("examples", "steps"))
    rate = settings["batch_size"] / examples
    sigma = settings["noise_multiplier"]
    return float(dpviz.epsilon(Tight.name, noise_multiplier=sigma, sample_rate=rate, steps=steps, delta=delta))


Method = RecordedMethod | AdultMethod | PublishedMethod
_KINDS: dict[str, type[Any]] = {"recorded": RecordedMethod, "adult": AdultMethod, "published": PublishedMethod}
_TABLE = Path(__file__).with_suffix(".toml")


def _method(key: str, table: dict[str, Any]) -> Method:
    """The row of the table with this key; its colours are those of `look`, by name."""
    values = {name: _frozen(value) for name, value in table.items() if name != "kind"} | {"key": key}
    if "color" in values:
        values["color"] = getattr(look, values["color"].upper())
    method: Method = made(_KINDS[table["kind"]], values, f"{_TABLE.name}: {key}", {})
    return method


def _frozen(value: Any) -> Any:
    """Lists, and lists in them, as tuples."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


METHODS = tuple(_method(key, table) for key, table in tomllib.loads(_TABLE.read_text("utf-8")).items())

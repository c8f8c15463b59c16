"""What private training reaches: accuracy on digits against tight ε, by recorded runs of four networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpviz import library as dpviz
from dpviz._remember import remembered
from dpviz.charts import look
from dpviz.charts.marks import Column, Line, Ring
from dpviz.charts.plot import Axis, LinePlot
from dpviz.experiments.record import recorded
from dpviz.fields import numbers
from dpviz.questions.answer import Answer, Rerun
from dpviz.questions.papers.reproduction import Facts, reproduction
from dpviz.questions.question import Block
from dpviz.questions.words import tenths
from dpviz.training.data import DATA_SETS
from dpviz.training.models import MODELS as NETWORKS

DELTA = 1e-5
EPSILONS = (1, 3, 8)
COLORS = {"whitened": look.GREEN, "scattering": look.BLUE, "cnn": look.ORANGE, "logistic": look.GREY}
GOAL = 3  # the ε that the words are about
share = tenths


@dataclass(frozen=True)
class Reach:
    """What the runs of one arm reached.

    Attributes:
        model: whose.
        made: how they were recorded.
        examples: N.
        planned: the ε that the noise was chosen for; `epsilon`, tight, at δ, of what was run, is a little less.
        accuracies: of the test data, by seed.
        settings: of the runs.
    """

    model: str
    made: str
    examples: int
    planned: float
    epsilon: float
    accuracies: tuple[float, ...]
    settings: dict[str, Any]

    @property
    def name(self) -> str:
        return NETWORKS[self.model].short

    @property
    def median(self) -> float:
        return float(np.median(self.accuracies))

    @property
    def span(self) -> str:
        return f"{share(min(self.accuracies))} to {share(max(self.accuracies))}"

    @property
    def ring(self) -> Ring:
        text = (
            f"{NETWORKS[self.model].title}, {self.examples:,} digits<br>ε = {numbers.epsilon(self.epsilon, up=True)}, "
            f"{share(self.median)}, seeds {self.span}"
        )
        low, high = min(self.accuracies), max(self.accuracies)
        return Ring(float(self.planned), self.median, text, COLORS[self.model], low, high)


@remembered
def reach(key: str, model: str, epsilon: float) -> Reach:
    """From what was recorded: ε of the steps that were run, by the tight accountant."""
    record, name = recorded(key), f"{model}_{epsilon:g}"
    first = record.of(name)[0].found
    [(sigma, batch, steps)] = first["schedule"]
    examples = int(first["examples"])
    tight = dpviz.epsilon("tight", noise_multiplier=sigma, sample_rate=batch / examples, steps=steps, delta=DELTA)
    accuracies = tuple(record.values(name, "test_accuracy").tolist())
    return Reach(model, record.made, examples, epsilon, float(tight), accuracies, dict(record.settings[name]))


def reached() -> Answer[Facts]:
    """Median accuracy of five recorded runs against what they cost."""
    models = {model: tuple(reach("reached", model, e) for e in EPSILONS) for model in COLORS}
    whole, pictures = reach("reached_mnist", "whitened", GOAL), reach("reached_cifar10", "scattering", GOAL)
    lines, rings = [], []
    for model, reaches in models.items():
        x, y = np.array([float(one.planned) for one in reaches]), np.array([one.median for one in reaches])
        noise = Column("σ", np.array([one.settings["noise_multiplier"] for one in reaches]), key="sigma")
        color = COLORS[model]
        lines.append(Line(model, reaches[0].name, x, y, "tight", color=color, write=share, hover=(noise,)))
        rings += [one.ring for one in reaches]
    rings.append(whole.ring)
    ends = [(r.low, r.high) for r in rings if r.low is not None and r.high is not None]
    plot = LinePlot(
        Axis("ε at most, tight, δ = 10⁻⁵", name="ε", column="epsilon", log=True, shown=(0.8, 8.0),
             hover="ε = %{x:.3~g}", marks=tuple(map(float, EPSILONS))),
        Axis("test accuracy, median of seeds", name="accuracy", column="test_accuracy", write=share,
             shown=(min(low for low, _ in ends) - 0.01, min(1.0, max(high for _, high in ends) + 0.01))),
        tuple(lines),
        rings=tuple(rings),
    )  # fmt: skip
    at_goal = {model: reaches[EPSILONS.index(GOAL)] for model, reaches in models.items()}
    facts = Facts(models=models, whole=whole, pictures=pictures, made=at_goal["cnn"].made, **at_goal)
    return Answer(plot, facts)


def runs(answer: Answer[Facts]) -> list[Block]:
    """A row an arm."""
    rows = [
        {
            "data": DATA_SETS[str(one.settings["data"])].title,
            "model": one.name,
            "N": f"{one.examples:,}",
            "ε, tight": numbers.epsilon(one.epsilon, up=True),
            "median": share(one.median),
            "seeds from to": one.span,
            "σ": f"{one.settings['noise_multiplier']:g}",
            "batch": f"{one.settings['batch_size']:,}",
            "T": f"{one.settings['steps']}",
            "step size": f"{one.settings['learning_rate']:g}",
        }
        for one in (
            *(one for reaches in answer.facts.models.values() for one in reaches),
            answer.facts.whole,
            answer.facts.pictures,
        )
    ]
    return [pd.DataFrame(rows)]


REACHED_VIEW = reproduction(
    "reached", "reached", reached, {}, {}, more={"The runs": runs, "One run again": lambda answer: (Rerun("reached"),)}
)

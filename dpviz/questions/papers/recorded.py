"""Accuracy against ε by recorded runs: Fig. 3 of Li, Chen, Liu, Carin 2019 on Adult, and digits by four networks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpviz import library as dpviz
from dpviz._remember import remembered
from dpviz.accounting.methods import Tight
from dpviz.charts import Column, Guide, Ring
from dpviz.experiments.record import recorded
from dpviz.fields import numbers
from dpviz.questions import Answer, Block, Facts, Rerun, chart, make_question, rows, style
from dpviz.questions.papers.claims import listing
from dpviz.questions.printed import CLAIMS
from dpviz.questions.printed.adult import ArmResult, adult_record, reached_on_adult
from dpviz.training.data import DATA_SETS
from dpviz.training.models import MODELS as NETWORKS

# --- Adult: one posterior sample, the hybrid and DP-SGLD --------------------------------------------------------------

METHODS = ("sample", "composed", "wang", "sgld")


def adult(*, accounted: str) -> Answer[Facts]:
    """Mean accuracy of ten recorded runs against what they cost, `accounted` as in `ArmResult`."""
    results = {method: reached_on_adult(method, accounted) for method in METHODS}
    [baseline] = reached_on_adult("baseline", accounted)
    costs = [one.epsilon for arms in results.values() for one in arms]
    shown = (0.5 * min(costs), 1.25 * max(costs))
    standard = results["sgld"][-1]  # with the standard sampler's steps, which stay these where more may be spent
    further = {"sgld": [(shown[1], standard.mean)]}
    curves: dict[str, Any] = {}
    for method, arms in results.items():
        points = [*((one.epsilon, one.mean) for one in arms), *further.get(method, ())]
        curves[method] = dict(zip("xy", np.transpose(points), strict=True))
    plot = chart(
        "papers/adult",
        "sg_figure3",
        (),
        curves,
        x_axis={"shown": shown},
        rings=tuple(ring(method, one) for method, arms in results.items() for one in arms),
        guides=(
            Guide("y", baseline.mean, "standard SGLD, not private"),
            Guide("x", standard.epsilon, "its steps, clipped", noted=False),
        ),
        summary=f"Without privacy {numbers.tenths(baseline.mean)}.",
    )
    facts = Facts(
        baseline=baseline,
        standard=standard,
        sample=within(results["sample"], standard.epsilon),
        composed=within(results["composed"], standard.epsilon),
        power=results["sample"][-1].settings["epsilon"] / 16.0,
        made=adult_record().made,
    )
    return Answer(plot, facts)


def within(arms: tuple[ArmResult, ...], epsilon: float) -> ArmResult | None:
    """The most accurate of those that cost no more; None where each costs more."""
    affordable = (one for one in arms if one.epsilon <= epsilon * (1.0 + 1e-6))
    return max(affordable, key=lambda one: one.mean, default=None)


def ring(method: str, one: ArmResult) -> Ring:
    """A mean over seeds with its standard deviation."""
    line = style("papers/adult", "sg_figure3", method)
    cost = numbers.epsilon(one.epsilon, up=True)
    text = f"{line['name']}: ε = {cost}, {numbers.tenths(one.mean)} ± {one.points}<br>{one.runs} runs"
    return Ring(one.epsilon, one.mean, text, line["color"], one.mean - one.deviation, one.mean + one.deviation)


ADULT_FIGURE = make_question(
    "papers/adult/sg_figure3",
    adult,
    below=lambda _: [listing([claim for claim in CLAIMS if claim.key.startswith("sg-fig3")])],
    option="adult",
)

# --- Digits -----------------------------------------------------------------------------------------------------------

DELTA = 1e-5
EPSILONS = (1, 3, 8)
MODELS = ("whitened", "scattering", "cnn", "logistic")
GOAL = 3  # the ε that the words are about


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
    def data(self) -> str:
        return DATA_SETS[str(self.settings["data"])].title

    @property
    def median(self) -> float:
        return float(np.median(self.accuracies))

    @property
    def span(self) -> str:
        return f"{numbers.tenths(min(self.accuracies))} to {numbers.tenths(max(self.accuracies))}"

    @property
    def ring(self) -> Ring:
        text = (
            f"{NETWORKS[self.model].title}, {self.examples:,} digits<br>ε = {numbers.epsilon(self.epsilon, up=True)}, "
            f"{numbers.tenths(self.median)}, seeds {self.span}"
        )
        color = style("papers/reached", "reached", self.model)["color"]
        return Ring(float(self.planned), self.median, text, color, min(self.accuracies), max(self.accuracies))


@remembered
def reach(key: str, model: str, epsilon: float) -> Reach:
    """From what was recorded: ε of the steps that were run, by the tight accountant."""
    record, name = recorded(key), f"{model}_{epsilon:g}"
    first = record.of(name)[0].found
    [(sigma, batch, steps)] = first["schedule"]
    examples = int(first["examples"])
    tight = dpviz.epsilon(Tight.name, noise_multiplier=sigma, sample_rate=batch / examples, steps=steps, delta=DELTA)
    accuracies = tuple(record.values(name, "test_accuracy").tolist())
    return Reach(model, record.made, examples, epsilon, float(tight), accuracies, dict(record.settings[name]))


def reached() -> Answer[Facts]:
    """Median accuracy of five recorded runs against what they cost."""
    models = {model: tuple(reach("reached", model, e) for e in EPSILONS) for model in MODELS}
    whole, pictures = reach("reached_mnist", "whitened", GOAL), reach("reached_cifar10", "scattering", GOAL)
    curves = {
        model: {
            "name": reaches[0].name,
            "y": np.array([one.median for one in reaches]),
            "hover": (Column("σ", np.array([one.settings["noise_multiplier"] for one in reaches]), key="sigma"),),
        }
        for model, reaches in models.items()
    }
    drawn = [*(one for reaches in models.values() for one in reaches), whole]
    low, high = min(min(one.accuracies) for one in drawn), max(max(one.accuracies) for one in drawn)
    plot = chart(
        "papers/reached",
        "reached",
        np.array(EPSILONS, dtype=np.float64),
        curves,
        x_axis={"marks": tuple(map(float, EPSILONS))},
        y_axis={"shown": (low - 0.01, min(1.0, high + 0.01))},
        rings=tuple(one.ring for one in drawn),
    )
    at_goal = {model: reaches[EPSILONS.index(GOAL)] for model, reaches in models.items()}
    return Answer(plot, Facts(all=[*drawn, pictures], whole=whole, pictures=pictures, **at_goal))


def runs(answer: Answer[Facts]) -> list[Block]:
    """A row an arm."""
    return [pd.DataFrame(rows("papers/reached", "runs", answer.facts))]


REACHED_VIEW = make_question(
    "papers/reached/reached",
    reached,
    {},
    more={"The runs": runs, "One run again": lambda answer: (Rerun("reached"),)},
)

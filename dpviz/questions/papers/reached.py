"""Accuracy against ε by recorded runs of four networks: what does private training reach on digits?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpviz import library as dpviz
from dpviz._remember import remembered
from dpviz.accounting.methods import Tight
from dpviz.charts import Axis, Column, Line, LinePlot, Ring, look
from dpviz.experiments.record import recorded
from dpviz.fields import numbers
from dpviz.questions import Answer, Block, Metric, Note, Question, Rerun, Words
from dpviz.training.data import DATA_SETS
from dpviz.training.models import MODELS as NETWORKS
from dpviz.training.settings import RunSettings

DELTA = 1e-5
EPSILONS = (1, 3, 8)
COLORS = {"whitened": look.GREEN, "scattering": look.BLUE, "cnn": look.ORANGE, "logistic": look.GREY}
GOAL = 3  # the ε that the words are about


@dataclass(frozen=True)
class Reach:
    """What the runs of one arm reached.

    Attributes:
        model, data: keys of the network and of its data.
        made: how they were recorded.
        examples: N.
        planned: the ε that the noise was chosen for; `epsilon`, tight, at δ, of what was run, is a little less.
        accuracies: of the test data, by seed.
        noise_multiplier, batch_size, steps, learning_rate: as the runs were set.
    """

    model: str
    data: str
    made: str
    examples: int
    planned: float
    epsilon: float
    accuracies: tuple[float, ...]
    noise_multiplier: float
    batch_size: int
    steps: int
    learning_rate: float

    @property
    def name(self) -> str:
        """The network, in a word or two."""
        return NETWORKS[self.model].short

    @property
    def median(self) -> float:
        """The median accuracy of the seeds."""
        return float(np.median(self.accuracies))

    @property
    def span(self) -> str:
        """The lowest and the highest accuracy of a seed."""
        return f"{numbers.tenths(min(self.accuracies))} to {numbers.tenths(max(self.accuracies))}"

    @property
    def ring(self) -> Ring:
        """The median with that span."""
        text = (
            f"{NETWORKS[self.model].title}, {self.examples:,} digits<br>ε = {numbers.up(self.epsilon)}, "
            f"{numbers.tenths(self.median)}, seeds {self.span}"
        )
        low, high = min(self.accuracies), max(self.accuracies)
        return Ring(float(self.planned), self.median, text, COLORS[self.model], low, high)

    @property
    def metric(self) -> Metric:
        """The median at the ε that was planned."""
        return Metric(self.name, numbers.tenths(self.median), f"ε = {self.planned:g}; {self.span}")

    def cells(self) -> dict[str, str]:
        """Its row of the table of all runs."""
        return {
            "data": DATA_SETS[self.data].title,
            "model": self.name,
            "N": f"{self.examples:,}",
            "ε, PLD": numbers.up(self.epsilon),
            "median": numbers.tenths(self.median),
            "seeds from to": self.span,
            "σ": f"{self.noise_multiplier:g}",
            "batch": f"{self.batch_size:,}",
            "T": str(self.steps),
            "learning rate": f"{self.learning_rate:g}",
        }


@dataclass(frozen=True)
class ReachedFacts:
    """What was reached.

    Attributes:
        whitened, scattering, cnn, logistic: by each network with the included digits, at ε = 3.
        whole: by the whitened features with all of MNIST, at ε = 3.
        clothes: by the whitened features, with the settings of all digits, on Fashion-MNIST, at ε = 1, 3 and 8.
        pictures: by scattering features on CIFAR-10, at ε = 3.
        arms: all of them, at every ε.
    """

    whitened: Reach
    scattering: Reach
    cnn: Reach
    logistic: Reach
    whole: Reach
    clothes: tuple[Reach, ...]
    pictures: Reach
    arms: tuple[Reach, ...]


def spent(result: Mapping[str, Any]) -> float:
    """ε at δ = 1e-5 of the steps that a recorded run took, all of one mechanism, by the PLD accountant."""
    [(sigma, batch, steps)] = result["schedule"]
    rate = batch / int(result["examples"])
    return float(dpviz.epsilon(Tight.name, noise_multiplier=sigma, sample_rate=rate, steps=int(steps), delta=DELTA))


@remembered
def reach(key: str, model: str, epsilon: float) -> Reach:
    """From what was recorded."""
    record, name = recorded(key), f"{model}_{epsilon:g}"
    first, settings = record.of(name)[0].found, RunSettings.from_json(dict(record.settings[name]))
    return Reach(
        model=model,
        data=settings.data,
        made=record.made,
        examples=int(first["examples"]),
        planned=epsilon,
        epsilon=spent(first),
        accuracies=tuple(record.values(name, "test_accuracy").tolist()),
        noise_multiplier=settings.noise_multiplier,
        batch_size=settings.batch_size,
        steps=settings.steps,
        learning_rate=settings.learning_rate,
    )


def reached() -> Answer[ReachedFacts]:
    """Median accuracy of five recorded runs against what they cost."""
    arms_of = {model: tuple(reach("reached", model, epsilon) for epsilon in EPSILONS) for model in COLORS}
    whole, pictures = reach("reached_mnist", "whitened", GOAL), reach("reached_cifar10", "scattering", GOAL)
    clothes = tuple(reach("reached_fashion_mnist", "whitened", epsilon) for epsilon in EPSILONS)
    marks = tuple(map(float, EPSILONS))
    lines = tuple(
        Line(
            model,
            arms[0].name,
            marks,
            [one.median for one in arms],
            look.SOLID,
            hover=(Column("σ", [one.noise_multiplier for one in arms], key="sigma"),),
            color=COLORS[model],
            write=numbers.tenths,
        )
        for model, arms in arms_of.items()
    )
    shown = [*(one for arms in arms_of.values() for one in arms), whole]
    low, high = min(min(one.accuracies) for one in shown), max(max(one.accuracies) for one in shown)
    plot = LinePlot(
        Axis(
            "ε at most, PLD, δ = 1e-5",
            name="ε",
            column="epsilon",
            log=True,
            shown=(0.8, 8.0),
            hover="ε = %{x:.3~g}",
            marks=marks,
        ),
        Axis(
            "test accuracy, median of seeds",
            name="accuracy",
            column="test_accuracy",
            kind="share",
            shown=(low - 0.01, min(1.0, high + 0.01)),
            write=numbers.tenths,
        ),
        lines,
        rings=tuple(one.ring for one in shown),
    )
    at_goal = {model: arms[EPSILONS.index(GOAL)] for model, arms in arms_of.items()}
    return Answer(
        plot,
        ReachedFacts(**at_goal, whole=whole, clothes=clothes, pictures=pictures, arms=(*shown, *clothes, pictures)),
    )


def runs(answer: Answer[ReachedFacts]) -> list[Block]:
    """A row an arm."""
    return [pd.DataFrame([one.cells() for one in answer.facts.arms])]


def headline(f: ReachedFacts) -> str:
    return (
        f"At ε = 3, a linear layer on fixed features reaches <b>{numbers.tenths(f.whitened.median)}</b> with 10,000 "
        f"digits and <b>{numbers.tenths(f.whole.median)}</b> with 60,000; a CNN with 10,000 digits reaches "
        f"{numbers.tenths(f.cnn.median)}."
    )


def metrics(f: ReachedFacts) -> Iterator[Metric]:
    yield f.whitened.metric
    yield f.scattering.metric
    yield f.cnn.metric
    yield f.logistic.metric


def notes(f: ReachedFacts) -> Iterator[Note]:
    yield Note(
        "The settings were chosen for ε = 3 by training on 8,000 of the training digits and testing on the other "
        "2,000. The runs shown train on all of them, and test digits did not influence the choice. No ε here covers "
        "that choice. With 2,000 test digits, the error of an accuracy is about ±0.4 points.",
        "caution",
    )
    yield Note(
        "Fixed features leave few numbers to learn, so little noise is added in total. “Whitened” features use the "
        "400 directions in which randomly drawn curves differ, so no example is needed for them."
    )
    yield Note(
        f"Recorded runs: {f.cnn.made}; make papers repeats them, and dpviz can train single runs again. The "
        f"single ring is all of MNIST: {f.whole.made}, with the files in DPVIZ_DATA."
    )
    low, goal, high = (numbers.tenths(one.median) for one in f.clothes)
    yield Note(
        f"On Fashion-MNIST, pictures of clothes, a linear layer on whitened features reaches {goal} at ε = 3 ({low} at "
        f"ε = 1, {high} at ε = 8), with all {f.clothes[0].examples:,} pictures and the settings of 60,000 digits, none "
        f"chosen on these pictures: {f.clothes[0].made}, with the files of the Debian package dataset-fashion-mnist."
    )
    yield Note(
        "On CIFAR-10 a linear layer on scattering features of its colours reaches "
        f"{numbers.tenths(f.pictures.median)} at ε = 3, with all {f.pictures.examples:,} pictures: {f.pictures.made}, "
        "with the files in DPVIZ_DATA."
    )


ASSUMPTIONS = """
- **Data:** the included digits, 10,000 to train and 2,000 to test. The single ring is MNIST with 60,000 and 10,000
  digits. Fashion-MNIST has as many pictures. CIFAR-10 has 50,000 and 10,000 pictures.
- **ε** of the runs is from the PLD accountant, for one example added or removed, with Poisson sampling, at
  δ = 1e-5.
- **One setting per network:** chosen at ε = 3 and kept at 1 and 8, where other settings may be better.
- **Whitened features:** groups of scattering features minus the mean of 5,000 randomly drawn curves, along the
  principal directions of these curves. Each direction is divided by its variance to the power 1/3, and every example is
  scaled to one length.
- **Recorded runs** have known seeds: they show what is reached but protect nobody.
"""

REACHED_VIEW = Question(
    "reached",
    "DP-SGD on digits: what private training reaches",
    reached,
    Words(headline, metrics, notes, assumptions=ASSUMPTIONS),
    asks="whitened",
    layout={},
    more={"The runs": runs, "One run again": lambda _: (Rerun("reached"),)},
)

"""Accuracy against the clipping threshold C by recorded runs on digits: does C matter where ε is the same?"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dpviz._remember import remembered
from dpviz.charts import Axis, Guide, Line, LinePlot, look
from dpviz.experiments.record import ExperimentRecord, recorded
from dpviz.fields import numbers
from dpviz.questions import Answer, Block, Metric, Note, Question, Rerun, Words
from dpviz.questions.papers.reached import spent
from dpviz.training.settings import RunSettings

RECORD, USUAL = "thresholds", "usual"
CURVES = {"fixed": look.ORANGE, "scaled": look.BLUE}


@dataclass(frozen=True)
class ThresholdRuns:
    """The runs of one arm.

    Attributes:
        threshold: C.
        step_size: what multiplies the mean of clipped gradients at the first step: the learning rate ÷ C.
        accuracies: of the test data, by seed.
    """

    threshold: float
    step_size: float
    accuracies: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median accuracy of the seeds."""
        return float(np.median(self.accuracies))

    @property
    def lowest(self) -> float:
        """The lowest accuracy of a seed."""
        return min(self.accuracies)

    @property
    def highest(self) -> float:
        """The highest accuracy of a seed."""
        return max(self.accuracies)

    @property
    def span(self) -> str:
        """The lowest and the highest accuracy of a seed."""
        return f"{numbers.tenths(self.lowest)} to {numbers.tenths(self.highest)}"


@dataclass(frozen=True)
class ClippingRunsFacts:
    """What the runs reached.

    Attributes:
        fixed: with one step size, by ascending C.
        scaled: with a step size ∝ 1/C, by ascending C.
        usual: the run that both have.
        epsilon: of each run, at δ; C has no part in it.
        noise_multiplier, batch_size, steps: of each run.
        made: how they were recorded.
    """

    fixed: tuple[ThresholdRuns, ...]
    scaled: tuple[ThresholdRuns, ...]
    usual: ThresholdRuns
    epsilon: float
    noise_multiplier: float
    batch_size: int
    steps: int
    made: str

    @property
    def best(self) -> ThresholdRuns:
        """The C of the highest median with one step size."""
        return max(self.fixed, key=lambda runs: runs.median)

    @property
    def product(self) -> float:
        """ηC where the step size is scaled."""
        return self.usual.step_size * self.usual.threshold


@remembered
def epsilon_of_each() -> float:
    """ε of each run at δ = 1e-5.

    Raises:
        ValueError: the runs have different mechanisms.
    """
    record = recorded(RECORD)
    results = [result for trial in record.trials if (result := record.result(record.settings[trial.arm], trial.seed))]
    mechanisms = {(result["examples"], *map(tuple, result["schedule"])) for result in results}
    if len(mechanisms) != 1:
        raise ValueError(f"Expected all runs of {RECORD!r} with one mechanism, found {len(mechanisms)}.")
    return spent(results[0])


def runs_of(record: ExperimentRecord, arm: str) -> ThresholdRuns:
    """The runs of one arm."""
    settings = RunSettings.from_json(dict(record.settings[arm]))
    accuracies = tuple(record.values(arm, "test_accuracy").tolist())
    clip = settings.max_grad_norm
    return ThresholdRuns(clip, float(f"{settings.learning_rate / clip:.6g}"), accuracies)


def thresholds() -> Answer[ClippingRunsFacts]:
    """Median accuracy of the recorded runs against C, with one step size and with one that is scaled by 1/C."""
    record = recorded(RECORD)
    usual, settings = runs_of(record, USUAL), record.settings[USUAL]
    curves: dict[str, tuple[ThresholdRuns, ...]] = {}
    for curve in CURVES:
        arms = [runs_of(record, arm) for arm in record.settings if arm.startswith(curve)]
        curves[curve] = tuple(sorted([*arms, usual], key=lambda runs: runs.threshold))
    facts = ClippingRunsFacts(
        **curves,
        usual=usual,
        epsilon=epsilon_of_each(),
        noise_multiplier=settings["noise_multiplier"],
        batch_size=settings["batch_size"],
        steps=settings["steps"],
        made=record.made,
    )
    return Answer(plot(facts), facts)


def plot(f: ClippingRunsFacts) -> LinePlot:
    """Both curves, with the range of the seeds."""
    marks = tuple(runs.threshold for runs in f.fixed)
    low, high = zip(*((runs.lowest, runs.highest) for runs in (*f.fixed, *f.scaled)), strict=True)

    def line(key: str, name: str, arms: tuple[ThresholdRuns, ...]) -> Line:
        spread = [runs.lowest for runs in arms], [runs.highest for runs in arms]
        medians = [runs.median for runs in arms]
        return Line(key, name, marks, medians, look.SOLID, color=CURVES[key], spread=spread, write=numbers.tenths)

    return LinePlot(
        Axis(
            "clipping threshold C",
            name="C",
            column="max_grad_norm",
            log=True,
            shown=(0.9 * marks[0], 1.08 * marks[-1]),  # room for the ends of bars
            hover="C = %{x:.3~g}",
            marks=marks,
        ),
        Axis(
            "test accuracy, median of seeds",
            name="accuracy",
            column="test_accuracy",
            kind="share",
            shown=(min(low) - 0.01, min(1.0, max(high) + 0.01)),
            write=numbers.tenths,
        ),
        (
            line("fixed", f"step size {f.usual.step_size:g}", f.fixed),
            line("scaled", f"step size {f.product:g}/C", f.scaled),
        ),
        guides=(Guide("x", f.usual.threshold, f"C = {f.usual.threshold:g}", noted=False),),
        end_values=False,
        summary=f"With step size {f.product:g}/C: {at(f.scaled[0])}, {at(f.scaled[-1])}.",
    )


def table(answer: Answer[ClippingRunsFacts]) -> list[Block]:
    """A row an arm."""
    arms = dict.fromkeys((*answer.facts.fixed, *answer.facts.scaled))
    columns = {
        "C": [f"{runs.threshold:g}" for runs in arms],
        "step size": [f"{runs.step_size:g}" for runs in arms],
        "median": [numbers.tenths(runs.median) for runs in arms],
        "seeds from to": [runs.span for runs in arms],
    }
    return [pd.DataFrame(columns)]


def headline(f: ClippingRunsFacts) -> str:
    return (
        f"Every C costs <b>ε = {numbers.up(f.epsilon)}</b>, but accuracy differs. With step size {f.usual.step_size:g} "
        f"it is <b>{at(f.best)}</b>, {at(f.fixed[0])} and {at(f.fixed[-1])}; with step size {f.product:g}/C it is "
        f"{at(f.scaled[0])} and {at(f.scaled[-1])}."
    )


def at(runs: ThresholdRuns) -> str:
    """A median and its C."""
    return f"{numbers.tenths(runs.median)} at C = {runs.threshold:g}"


def metrics(f: ClippingRunsFacts) -> Iterator[Metric]:
    yield Metric("ε, PLD", numbers.up(f.epsilon), f"δ = 1e-5; σ = {f.noise_multiplier:g}, for every C")
    for name, arms in ((f"η = {f.usual.step_size:g}", f.fixed), (f"η = {f.product:g}/C", f.scaled)):
        best = max(arms, key=lambda runs: runs.median)
        yield Metric(f"Best with {name}", numbers.tenths(best.median), f"C = {best.threshold:g}; {best.span}")
    largest = f.fixed[-1]
    yield Metric(
        f"C = {largest.threshold:g}", numbers.tenths(largest.median), f"{largest.span}; η = {largest.step_size:g}"
    )


def notes(f: ClippingRunsFacts) -> Iterator[Note]:
    yield Note(
        "C and step size of the usual run were chosen on training digits. The best C of this chart is read from test "
        "digits, and no ε here covers such a choice. With 2,000 test digits, the error of an accuracy is about ±0.4 "
        "points.",
        "caution",
    )
    yield Note(
        f"The noise is σC. A large C adds noise where few gradients are that long; a small C with the same step size "
        f"makes steps short. With step size {f.product:g}/C, noise moves the weights equally far at every C. Therefore "
        f"the learning rate on the page Train is in units of C: these runs have the rate {f.product:g}."
    )
    yield Note(
        f"Recorded runs: {f.made}; make papers repeats them, and dpviz can train single runs again. Bars: lowest and "
        "highest seed."
    )


def assumptions(f: ClippingRunsFacts) -> str:
    return f"""
- **Data:** the included digits, 10,000 to train and 2,000 to test; a linear layer on fixed scattering features.
- **Same in all runs:** σ = {f.noise_multiplier:g}, Poisson batches of {f.batch_size:,} expected, T = {f.steps}; the
  step size falls linearly to a tenth. So ε is the same, for one example added or removed.
- **ε does not depend on C,** because the noise is σC. A C that is chosen by looking at the data costs more.
- **Recorded runs** have known seeds: they show what is reached but protect nobody.
"""


CLIPPING_RUNS = Question(
    "clipping_runs",
    "DP-SGD on digits: accuracy against the clipping threshold C",
    thresholds,
    Words(headline, metrics, notes, assumptions=assumptions),
    asks="fixed",
    layout={},
    more={"The runs": table, "One run again": lambda _: (Rerun(RECORD),)},
)

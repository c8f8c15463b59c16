"""Lécuyer 2021, Figs. 1a, 2a and 2c: test accuracy of every epoch of the published runs, and where adaptivity pays."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpviz._arrays import Array
from dpviz.charts import Area, Axis, Column, Guide, Line, LinePlot, Ring, look
from dpviz.experiments.record import Spread
from dpviz.fields import numbers
from dpviz.questions import Answer, Formula, Metric, Note, Words
from dpviz.questions.budget.courses import courses, mean_and_range
from dpviz.questions.papers.adaptive_accounts import PAPER_ODOMETER, RECORDS, span, spent
from dpviz.questions.printed.filters import ADAPTED, FINE_TUNED, RUNS, PublishedRun

GAIN = "gain"
NAMES = {
    "baseline": "baseline", "noise": "adaptive noise", "batch": "adaptive batch", "all": "whole network",
    "last": "last layer",
}  # fmt: skip
RECORDED, FIXED = ("budget_cnn", "budget_scattering"), "fixed"  # runs on digits, and what their baseline is called
CIFAR, DIGITS = "CIFAR-10", "digits"
SHOWN_GAIN, LONGEST = (-16.0, 5.0), 2.9  # what the axes of the gain show: all runs start far below


@dataclass(frozen=True, eq=False)
class Arm:
    """The runs of one policy.

    Attributes:
        name: what it is called.
        epochs: (E,) up to where the first run ends, from 1.
        mean, lowest, highest: accuracy over the runs there, shares.
        lengths, ends: epochs and accuracy at the runs' own ends.
    """

    name: str
    epochs: Array
    mean: Array
    lowest: Array
    highest: Array
    lengths: Spread
    ends: Spread

    @property
    def end(self) -> str:
        """ "57.2 %": the mean at the ends, to the digits of the paper."""
        return percent(self.ends.mean)


@dataclass(frozen=True)
class Goal:
    """What 80 % take: epochs, and ε by the odometer of the text with everything charged, of each run."""

    epochs: tuple[int, ...]
    epsilons: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class AccuracyFacts:
    """What the runs reach.

    Attributes:
        part: the figure, or GAIN.
        plotted: the policies' runs on CIFAR-10, by key.
        digits, features: the project's recorded runs on 10,000 digits, the same way, by a CNN and by a linear layer on
            scattering features; only of training from scratch.
        goal: what 80 % take of the whole network's runs at σ = 1 and of adaptive ones; only of fine-tuning.
    """

    part: str
    plotted: Mapping[str, Arm]
    digits: Mapping[str, Arm]
    features: Mapping[str, Arm]
    goal: tuple[Goal, ...] = ()


def percent(share: float) -> str:
    """To two digits behind the point, as the paper writes accuracies."""
    return f"{100.0 * share:.2f}\u00a0%"


def points(difference: float) -> str:
    """ "+2.6": a difference in percentage points."""
    return f"{difference:+.1f}".replace("-", "−")


def published_arm(key: str, runs: Sequence[PublishedRun]) -> Arm:
    """Of the author's runs."""
    shortest = min(run.epochs for run in runs)
    each = np.array([run.accuracy[:shortest] for run in runs])
    return Arm(
        NAMES[key],
        np.arange(1.0, shortest + 1.0),
        each.mean(axis=0),
        each.min(axis=0),
        each.max(axis=0),
        Spread.of([run.epochs for run in runs]),
        Spread.of([run.accuracy[-1] for run in runs]),
    )


def digits_arms(record: str) -> dict[str, Arm]:
    """Of recorded runs on digits."""
    arms = {}
    for policy, runs in courses(record, "paper").arms.items():
        key = "baseline" if policy == FIXED else policy
        lengths, ends = (Spread.of([getattr(run, of)[-1] for run in runs]) for of in ("epochs", "accuracy"))
        arms[key] = Arm(NAMES[key], *mean_and_range(runs, "accuracy"), lengths, ends)
    return arms


def to_goal(runs: Sequence[PublishedRun]) -> Goal:
    epochs = tuple(run.epochs_to_goal for run in runs)
    each = zip(runs, epochs, strict=True)
    return Goal(epochs, tuple(spent(PAPER_ODOMETER, run, True)[epoch - 1] for run, epoch in each))


def accuracy(part: str) -> Answer[AccuracyFacts]:
    """The figure's curves, or the gain of adaptivity beside that on digits."""
    if part in ("1a", GAIN):
        arms = {key: published_arm(key, runs) for key, runs in RUNS.items()}
        facts = AccuracyFacts(part, arms, digits_arms(RECORDED[0]), digits_arms(RECORDED[1]))
        return Answer(gain_plot(facts) if part == GAIN else accuracy_plot(arms), facts)
    chosen = FINE_TUNED if part == "2a" else ADAPTED
    arms = {key: published_arm(key, runs) for key, runs in chosen.items()}
    goal = tuple(to_goal(runs["all"]) for runs in (FINE_TUNED, ADAPTED))
    return Answer(accuracy_plot(arms), AccuracyFacts(part, arms, {}, {}, goal))


def accuracy_plot(arms: Mapping[str, Arm]) -> LinePlot:
    """Means, and in light colours from the lowest to the highest run."""
    longest = max(arm.lengths.highest for arm in arms.values())
    low, high = min(arm.lowest.min() for arm in arms.values()), max(arm.highest.max() for arm in arms.values())
    axis = Axis("test accuracy", kind="share", write=percent, shown=(math.floor(10 * low) / 10, high + 0.03))
    lines = tuple(curve(key, arm, arm.name, look.POLICIES[key]) for key, arm in arms.items())
    areas = tuple(Area(arm.epochs, arm.lowest, arm.highest, look.POLICIES[key]) for key, arm in arms.items())
    rings = tuple(ring(arm, look.POLICIES[key], numbers.tenths) for key, arm in arms.items())
    ends = "; ".join(f"{arm.name} {arm.end} after {arm.lengths.mean:.0f} epochs" for arm in arms.values())
    summary = f"Test accuracy against epochs, mean of five runs; at the runs' ends: {ends}."
    x = Axis("epochs", kind="steps", hover="%{x:,d} epochs", write=numbers.steps, shown=(0.0, 1.02 * longest))
    return LinePlot(x, axis, lines, areas=areas, rings=rings, names_on_lines=True, summary=summary)


def curve(key: str, arm: Arm, name: str, color: str, *, dashed: bool = False) -> Line:
    spread = (Column("lowest", arm.lowest), Column("highest", arm.highest))
    return Line(key, name, arm.epochs, arm.mean, look.SOLID, color=color, hover=spread, approximate=dashed)


def ring(arm: Arm, color: str, write: Callable[[float], str]) -> Ring:
    """The mean of the runs' ends."""
    text = f"{arm.name}: mean of the runs at their ends, after {arm.lengths.mean:.0f} epochs on average"
    return Ring(
        arm.lengths.mean, arm.ends.mean, text, color, arm.ends.lowest, arm.ends.highest, name=write(arm.ends.mean)
    )


def against(arm: Arm, baseline: Arm) -> Arm:
    """An arm with epochs as multiples of the baseline's, and accuracies in points above the baseline's end."""

    def gained(share: Array) -> Array:
        return 100.0 * (share - baseline.ends.mean)

    lengths = Spread.of(np.array(arm.lengths) / baseline.lengths.mean)._replace(
        mean=arm.lengths.mean / baseline.lengths.mean
    )
    return Arm(
        arm.name,
        arm.epochs / baseline.lengths.mean,
        gained(arm.mean),
        gained(arm.lowest),
        gained(arm.highest),
        lengths,
        Spread(*(100.0 * (end - baseline.ends.mean) for end in arm.ends)),
    )


def gain_plot(facts: AccuracyFacts) -> LinePlot:
    """Accuracy less that of the baseline at its end, against epochs as a multiple of the baseline's; digits dashed."""
    lines, rings, ends = [], [], []
    for data, arms in ((CIFAR, facts.plotted), (DIGITS, facts.digits)):
        for key, arm in arms.items():
            relative, name = against(arm, arms["baseline"]), arm.name.removeprefix("adaptive ")
            line = curve(f"{key}_{data}", relative, f"{name}, {data}", look.POLICIES[key], dashed=data == DIGITS)
            lines.append(line if data == DIGITS else replace(line, end=name))  # as in the paper: all else has no room
            if key != "baseline":
                rings.append(ring(relative, line.hue, points))
                ends.append(f"{line.name} {points(relative.ends.mean)}")
    return LinePlot(
        Axis(
            "epochs ÷ the baseline's",
            column="epochs",
            hover="%{x:.3~g} × the baseline's epochs",
            shown=(0.0, LONGEST),
            marks=tuple(np.arange(0.25, LONGEST, 0.25)),
        ),
        Axis("points above the baseline's end", column="gain", write=points, shown=SHOWN_GAIN),
        tuple(lines),
        guides=(Guide("y", 0.0, "", noted=False),),
        rings=tuple(rings),
        names_on_lines=True,
        summary=f"At the runs' ends: {'; '.join(ends)}.",
    )


def gains(arms: Mapping[str, Arm]) -> dict[str, float]:
    """Points that each adaptive policy ends above the baseline."""
    baseline = arms["baseline"].ends.mean
    return {key: 100.0 * (arm.ends.mean - baseline) for key, arm in arms.items() if key != "baseline"}


def later_half(arms: Mapping[str, Arm]) -> float:
    """Points that the baseline gains in its later half: what more epochs were worth there."""
    baseline = arms["baseline"]
    return 100.0 * (baseline.ends.mean - float(np.interp(baseline.lengths.mean / 2.0, baseline.epochs, baseline.mean)))


def headline(f: AccuracyFacts) -> str:
    if not f.digits:
        return fine_tuning_headline(f)
    there, here = gains(f.plotted), gains(f.digits)
    ends = (
        ""
        if f.part == GAIN
        else f" ({f.plotted['noise'].end}, {f.plotted['batch'].end}; baseline {f.plotted['baseline'].end})"
    )
    return (
        f"On CIFAR-10, at nearly the same ε, adaptive noise ends <b>{points(there['noise'])}</b> and adaptive batch "
        f"<b>{points(there['batch'])}</b> points above the baseline{ends}. On 10,000 digits they end "
        f"<b>{points(here['noise'])}</b> and <b>{points(here['batch'])}</b>: adaptivity pays where more epochs still "
        "raise accuracy."
    )


def fine_tuning_headline(f: AccuracyFacts) -> str:
    fixed, adaptive = (f"<b>{span(goal.epsilons)}</b> after {several(goal.epochs)} epochs" for goal in f.goal)
    if f.part == "2a":
        return (
            f"Fine-tuned for 50 epochs at σ = 1, the whole network ends at <b>{f.plotted['all'].end}</b> and the last "
            f"layer at <b>{f.plotted['last'].end}</b>. 80 % with the whole network cost ε = {fixed}."
        )
    return (
        f"With adaptive noise, the whole network ends at <b>{f.plotted['all'].end}</b> and the last layer at "
        f"<b>{f.plotted['last'].end}</b>. Adaptivity pays by an early stop: 80 % cost ε = {adaptive}, at σ = 1 {fixed}."
    )


def several(epochs: Sequence[int]) -> str:
    """ "6 to 15"."""
    return f"{min(epochs)} to {max(epochs)}"


def metrics(f: AccuracyFacts) -> Iterator[Metric]:
    if f.part == GAIN:
        for data, arms in ((CIFAR, f.plotted), (DIGITS, f.digits)):
            for key, gained in gains(arms).items():
                ends = f"{arms[key].end}; baseline {arms['baseline'].end}"
                yield Metric(f"{NAMES[key].capitalize()}, {data}", f"{points(gained)} points", ends)
        return
    for arm in f.plotted.values():
        ends = f"{percent(arm.ends.lowest)} to {percent(arm.ends.highest)}; {arm.lengths.mean:.0f} epochs, mean of 5"
        yield Metric(arm.name.capitalize(), arm.end, ends)
    if f.digits:
        here = gains(f.digits)
        yield Metric("On 10,000 digits", f"{points(here['noise'])}; {points(here['batch'])}", "points, noise and batch")


def notes(f: AccuracyFacts) -> Iterator[Note]:
    if f.digits:
        there, here = (points(later_half(arms)) for arms in (f.plotted, f.digits))
        yield Note(
            f"The later half of its epochs changes the baseline by {there} points on CIFAR-10 and by {here} on digits. "
            "More noise per example buys more epochs; where these teach nothing more, only the noise is left."
        )
        linear = gains(f.features)
        yield Note(
            "Digits: a small CNN, three seeds, 20 epochs planned: “What did trained policies reach?” has them. With a "
            f"linear layer on scattering features it is {points(linear['noise'])} points for adaptive noise and "
            f"{points(linear['batch'])} for adaptive batch."
        )
    else:
        yield Note(
            "ε to 80 % is that of the odometer of the text, with every count charged. The published runs do not stop "
            "there; the test accuracy, which is no private count, says when they reach 80 %."
        )
        yield RECORDS
    yield Note("A curve is the mean up to where its first run ends; a circle is the mean of the runs' own ends.")


def formulas(_: AccuracyFacts) -> Iterator[Formula]:
    yield Formula(
        "a circle, over the runs s = 1 … S of a policy, each with its own number of epochs E_s",
        r"\left(\frac1S \sum_s E_s,\ \frac1S \sum_s a_s(E_s)\right)",
    )


WORDS = Words(headline, metrics, notes, formulas)

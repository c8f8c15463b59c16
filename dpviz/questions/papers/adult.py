"""Fig. 3 of Li, Chen, Liu, Carin 2019: accuracy on Adult against ε, of one posterior sample, the hybrid and DP-SGLD."""

from __future__ import annotations

import numpy as np

from dpviz.charts import look
from dpviz.charts.marks import Guide, Line, Ring
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.questions.answer import Answer
from dpviz.questions.papers.claims import listing
from dpviz.questions.papers.fields import ACCOUNTED
from dpviz.questions.papers.reproduction import Facts, reproduction
from dpviz.questions.printed import CLAIMS
from dpviz.questions.printed.adult import ArmResult, adult_record, reached
from dpviz.questions.words import tenths

METHODS = {
    "sample": ("One posterior sample", look.GREEN),
    "composed": ("Hybrid, steps composed", look.MAUVE),
    "wang": ("Hybrid, Wang's steps", look.BROWN),
    "sgld": ("DP-SGLD", look.BLUE),
}
percent = tenths


def adult(*, accounted: str) -> Answer[Facts]:
    """Mean accuracy of ten recorded runs against what they cost, `accounted` as in `ArmResult`."""
    results, [baseline] = {method: reached(method, accounted) for method in METHODS}, reached("baseline", accounted)
    costs = [one.epsilon for arms in results.values() for one in arms]
    shown = (0.5 * min(costs), 1.25 * max(costs))
    standard = results["sgld"][-1]  # with the standard sampler's steps
    lines, rings = [], []
    for method, (name, color) in METHODS.items():
        arms = results[method]
        x, y = np.array([one.epsilon for one in arms]), np.array([one.mean for one in arms])
        if method == "sgld":  # with more to spend the steps stay those of the standard sampler
            x, y = np.append(x, shown[1]), np.append(y, y[-1])
        lines.append(Line(method, name, x, y, look.SOLID, color=color, write=percent))
        rings += [ring(one, name, color) for one in arms]
    plot = LinePlot(
        Axis("ε", column="epsilon", log=True, shown=shown, hover="ε = %{x:.3~g}", write=numbers.plain),
        Axis("test accuracy", column="test_accuracy", shown=(0.755, 0.855), write=percent),
        tuple(lines),
        rings=tuple(rings),
        guides=(
            Guide("y", baseline.mean, "standard SGLD, not private"),
            Guide("x", standard.epsilon, "its steps, clipped", noted=False),
        ),
        end_values=False,
        names_on_lines=True,
        summary=f"Without privacy {percent(baseline.mean)}.",
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


def ring(one: ArmResult, name: str, color: str) -> Ring:
    """A mean over seeds with its standard deviation."""
    cost = numbers.epsilon(one.epsilon, up=True)
    text = f"{name}: ε = {cost}, {percent(one.mean)} ± {one.points}<br>{one.runs} runs"
    return Ring(one.epsilon, one.mean, text, color, one.mean - one.deviation, one.mean + one.deviation)


ADULT_FIGURE = reproduction(
    "adult",
    "sg_figure3",
    adult,
    {"accounted": ACCOUNTED},
    {"Question": (ACCOUNTED,)},
    below=lambda _: [listing([claim for claim in CLAIMS if claim.key.startswith("sg-fig3")])],
    option="adult",
)

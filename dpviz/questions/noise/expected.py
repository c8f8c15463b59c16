"""Accuracy against ε of recorded and published runs on a data set: which accuracy may I expect at this ε?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import pandas as pd

from dpviz.accounting.methods import Tight
from dpviz.charts import Axis, Guide, Line, LinePlot, Point, Ring, look
from dpviz.fields import choice, flag, numbers
from dpviz.questions import DELTA, Answer, Block, Compound, Metric, Note, Question, Reader, Words, setting
from dpviz.questions.mechanism import shown_delta
from dpviz.questions.noise.expected_methods import METHODS, Method
from dpviz.questions.noise.reached import Reached
from dpviz.questions.noise.settings import TARGET

DATA, OWN = choice("accdata"), flag("accown")
LEAST = 1e-3  # ε that is shown


@dataclass(frozen=True)
class ExpectedFacts:
    """The points of a data set.

    Attributes:
        data: its name.
        target_epsilon, delta: what is asked for.
        measured, published, own: the points: recorded with dpviz, printed in papers, in the store of this machine.
        best_measured, best_published, best_own: the most accurate of them that keep (ε, δ); None where none does.
    """

    data: str
    target_epsilon: float
    delta: float
    measured: tuple[Reached, ...]
    published: tuple[Reached, ...]
    own: tuple[Reached, ...]
    best_measured: Reached | None
    best_published: Reached | None
    best_own: Reached | None

    @property
    def points(self) -> tuple[Reached, ...]:
        """All of them."""
        return self.measured + self.published + self.own

    @property
    def other_delta(self) -> list[str]:
        """Methods whose ε is at a δ larger than the one asked for."""
        named = (f"{one.method} (δ = {numbers.delta(one.delta)})" for one in self.points if one.delta > self.delta)
        return list(dict.fromkeys(named))


def best(points: Sequence[Reached], target_epsilon: float, delta: float) -> Reached | None:
    """The most accurate of those that promise at least (ε, δ) as asked; None where there is none."""
    kept = [one for one in points if one.epsilon <= target_epsilon * (1.0 + 1e-9) and one.delta <= delta]
    return max(kept, key=lambda one: one.accuracy, default=None)


def own_runs(get: Reader) -> tuple[Reached, ...]:
    """The runs of this machine's store on the chosen data; none where they are not asked for."""
    if not get(OWN):
        return ()
    # Here, because what looks at runs needs packages that are not there wherever questions are.
    from dpviz.questions.noise.own_runs import reached

    return reached(get(DATA))


OWN_RUNS = Compound({OWN.key: OWN}, own_runs, lambda runs: {OWN.key: OWN.write(bool(runs))}, of_runs=True)


def expected(
    *,
    target_epsilon: Annotated[float, TARGET],
    delta: Annotated[float, DELTA],
    data: Annotated[str, DATA],
    runs: Annotated[tuple[Reached, ...], OWN_RUNS],
) -> Answer[ExpectedFacts]:
    """Accuracy against ε: what was measured with its lowest and highest run, what was printed as diamonds."""
    methods = [(method, method.points(delta)) for method in METHODS if method.data == data]
    measured = [(one, method.color) for method, reached in methods if not method.published for one in reached]
    published = [one for method, reached in methods if method.published for one in reached]
    facts = ExpectedFacts(
        DATA.options[data],
        target_epsilon,
        delta,
        tuple(one for one, _ in measured),
        tuple(published),
        runs,
        best_measured=best([one for one, _ in measured], target_epsilon, delta),
        best_published=best(published, target_epsilon, delta),
        best_own=best(runs, target_epsilon, delta),
    )
    plot = LinePlot(
        *axes(facts),
        tuple(line(method, reached) for method, reached in methods),
        rings=(
            *(Ring(one.epsilon, one.accuracy, one.text, color, one.low, one.high) for one, color in measured),
            *(Ring(one.epsilon, one.accuracy, one.text, look.GREY) for one in runs),
        ),
        points=tuple(Point(one.epsilon, one.accuracy, one.text, Tight.name) for one in published),
        guides=(Guide("x", target_epsilon, f"target ε = {numbers.entered(target_epsilon)}", sets=TARGET),),
        end_values=False,
    )
    return Answer(plot, facts)


def line(method: Method, points: Sequence[Reached]) -> Line:
    """One method's points, connected; what a paper printed is dashed."""
    return Line(
        method.key,
        method.name,
        [one.epsilon for one in points],
        [one.accuracy for one in points],
        look.SOLID,
        approximate=method.published,
        color=method.color,
        end=method.end,
        label=method.name,
    )


def axes(f: ExpectedFacts) -> tuple[Axis, Axis]:
    """ε and accuracy, as far as the points lie."""
    epsilons = sorted({max(one.epsilon, LEAST) for one in f.points})
    low, high = min(one.low for one in f.points), max(one.high for one in f.points)
    x = Axis(
        "ε at most",
        name="ε",
        column="epsilon",
        log=True,
        shown=(0.8 * epsilons[0], max(epsilons[-1], 1.0)),
        hover="ε = %{x:.3~g}",
        marks=tuple(epsilons),
    )
    y = Axis(
        "test accuracy",
        name="accuracy",
        column="test_accuracy",
        kind="share",
        shown=(low - 0.05 * (high - low) - 0.005, min(1.0, high + 0.1 * (high - low) + 0.005)),
        write=numbers.tenths,
    )
    return x, y


def headline(f: ExpectedFacts) -> str:
    target = setting(TARGET, f"ε ≤ <b>{numbers.at_most(f.target_epsilon)}</b>")
    both = f"At {target} and {shown_delta(f.delta)}"
    measured, published = f.best_measured, f.best_published
    reached = []
    if measured:
        accuracy = numbers.tenths(measured.accuracy)
        reached.append(f"a run measured here on {f.data} reaches <b>{accuracy}</b> ({measured.method})")
    if published:
        run = "a published one" if measured else f"a published run on {f.data} reaches"
        reached.append(f"{run} <b>{numbers.tenths(published.accuracy)}</b> ({published.source})")
    if not reached:
        return f"{both}, no recorded run on {f.data} satisfies both."
    return f"{both}, {', '.join(reached)}."


def metrics(f: ExpectedFacts) -> Iterator[Metric]:
    best = {"Measured here": f.best_measured, "Published": f.best_published, "Your own runs": f.best_own}
    for name, point in best.items():
        if point is not None:
            yield Metric(name, numbers.tenths(point.accuracy), point.bound)


def notes(f: ExpectedFacts) -> Iterator[Note]:
    if f.other_delta:
        names = ", ".join(f.other_delta)
        yield Note(f"Not counted, because their ε is at a larger δ than yours: {names}.", "caution")
    yield Note(
        "Circles are means of several runs measured here, diamonds are published values as printed. They are not a "
        "forecast for your data."
    )


ASSUMPTIONS = """
- **A point is not a forecast.** It shows what one method reached with chosen settings. Your accuracy depends on your
  data, network and settings.
- **Accuracy** is the share of right answers on test data. Settings were chosen with public or test data in mind: the
  ε here covers the training run, not that choice.
- **Circles** are runs measured with dpviz: the mean over seeds, with the lowest and the highest. Their ε is computed at
  your δ by the PLD accountant, for one example added or removed and Poisson sampling. The ε of DP-SGLD on
  Adult is Rényi DP's at δ = 1e-4; one posterior sample has δ = 0.
- **Seeds** of these runs are known, so the runs only show which accuracy is reached; their noise protects nobody.
- **Grey circles** are your own runs, one run each, at the ε and δ that each may claim.
- **Diamonds** are published values as printed, at the δ of the paper. The ε of PATE depends on how its teachers voted.
- **Left out** are printed accuracies whose ε could not be confirmed for the same run: Triastcyn & Faltings 2020, Table
  1, and Li et al. 2019, Table 1, for MNIST and SGHMC. The Papers page has them.
"""


def points(answer: Answer[ExpectedFacts]) -> list[Block]:
    """A row a point."""
    rows = [
        {
            "method": one.method,
            "accuracy": numbers.tenths(one.accuracy),
            "lowest to highest": one.span or "–",
            "guarantee": one.bound,
            "accountant": one.accountant,
            "source": one.source,
            "runs": one.counted,
            "note": one.note,
        }
        for one in answer.facts.points
    ]
    return [pd.DataFrame(rows)]


EXPECTED = Question(
    "expected",
    "Which accuracy may I expect at this ε?",
    expected,
    Words(headline, metrics, notes, assumptions=ASSUMPTIONS),
    asks="best_measured",
    layout={"Question": (TARGET, DELTA, DATA, OWN)},
    more={"The runs": points},
    option="accuracy",
)

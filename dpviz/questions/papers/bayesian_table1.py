"""Bayesian DP, Table 1, MNIST: the authors' estimate along a recorded run, beside what is guaranteed.

Their public notebook clips the mean gradient of a batch as a whole, adds the noise to that mean, and compares means
that leave one example out (Triastcyn & Faltings 2020, App. B.1; `dpviz.training.whole_mean`).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.methods import BAYESIAN, Renyi, Tight
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.charts import Axis, Column, Line, LinePlot, Point, look
from dpviz.experiments.record import ExperimentRecord, recorded
from dpviz.fields import choice, numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import Answer, Formula, Metric, Note, Question, Rerun, Words
from dpviz.questions.printed import BY_KEY
from dpviz.questions.printed.bayesian import LAST_ORDER, STRICT

RECORD, SEED = "bayesian_table_1", 0
DELTA = 1e-5
PRINTED_DP, PRINTED = (BY_KEY[f"bdp-table1-{name}-mnist"].number for name in ("dp", "bdp"))


@dataclass(frozen=True, eq=False)
class TableAccount:
    """What a recorded run costs, after each epoch (n,).

    Attributes:
        record: of all runs.
        settings, result: of this run, and what was measured.
        steps: so far.
        estimate, order: ε_μ as the authors compute it, at its best λ.
        moved: the most by which an example of any batch so far moved the mean, in C.
        person: ε of one who moves it as far in every step.
        guaranteed: ε of anyone, who may move the clipped mean by 2C.
        each: ε of anyone if each example were clipped to C before averaging.
        one: `guaranteed` of a single step.
    """

    record: ExperimentRecord
    settings: Mapping[str, Any]
    result: Mapping[str, Any]
    steps: Array
    estimate: Array
    order: Array
    moved: Array
    person: Array
    guaranteed: Array
    each: Array
    one: float


@dataclass(frozen=True)
class TableFacts:
    """ε after the whole run.

    Attributes:
        account: of the run.
        estimate: ε_μ by the authors' procedure; no bound.
        guaranteed: the DP that the run has.
        person: ε of the example that moved a mean most, if it did so in every step.
        each: the guarantee of the same noise if each example were clipped first.
        floor: ln(1/δ_μ)/λ at the largest λ, which needs no data.
    """

    account: TableAccount
    estimate: float
    guaranteed: float
    person: float
    each: float
    floor: float


@remembered
def account(arm: str) -> TableAccount:
    """All ε of the recorded run `arm`."""
    record = recorded(RECORD)
    settings = record.settings[arm]
    result = record.result(settings, SEED)
    assert result is not None
    sigma, batch = settings["noise_multiplier"], settings["batch_size"]
    rate = batch / settings["examples"]
    costs = np.array(result["costs"])
    steps = settings["steps_per_epoch"] * np.arange(1.0, len(costs) + 1.0)
    left = STRICT - steps * settings["estimator_failure"]  # each step is an estimate of its own
    each_order = (costs - np.log(left)[:, None]) / np.array(settings["orders"])
    moved = np.maximum.accumulate(np.array(result["moved"]))
    person = dpviz.epsilon(Renyi.name, noise_multiplier=sigma / moved, sample_rate=rate, steps=steps, delta=DELTA)
    anyone = tight_epsilon(SampledGaussian(sigma / 2.0, rate), np.r_[1.0, steps], DELTA).upper
    first = tight_epsilon(SampledGaussian(sigma * batch, rate), steps, DELTA).upper
    return TableAccount(
        record=record,
        settings=settings,
        result=result,
        steps=steps,
        estimate=each_order.min(axis=1),
        order=np.array(settings["orders"])[each_order.argmin(axis=1)],
        moved=moved,
        person=np.asarray(person),
        guaranteed=anyone[1:],
        each=first,
        one=float(anyone[0]),
    )


def table_1(*, weights: Annotated[str, choice("pweights")]) -> Answer[TableFacts]:
    """Every ε along the run, and the two printed ones at its end."""
    run = account(weights)
    end, floor = float(run.steps[-1]), -math.log(STRICT) / LAST_ORDER
    estimate = "Bayesian (weaker), authors' estimate"
    plot = LinePlot(
        x=Axis("steps", kind="steps", hover="%{x:,d} steps", write=numbers.steps, marks=tuple(run.steps[3::4])),
        y=Axis("ε", log=True, shown=(0.5 * float(run.each[0]), 3.0 * float(run.guaranteed[-1]))),
        lines=(
            Line("guaranteed", "DP, guaranteed", run.steps, run.guaranteed, Tight.name),
            Line("estimate", estimate, run.steps, run.estimate, BAYESIAN, approximate=True,
                 hover=(Column("λ", run.order, key="order"),), end="authors' estimate"),
            Line("person", "who moved most here", run.steps, run.person, Renyi().family, approximate=True,
                 end="moved most here"),
            Line("each", "DP, each clipped first", run.steps, run.each, look.SOLID, color=look.BROWN),
        ),
        points=(
            Point(end, PRINTED_DP, f"{PRINTED_DP:g} (DP), Triastcyn & Faltings 2020, Table 1", Tight.name),
            Point(end, PRINTED, f"{PRINTED:g} (Bayesian DP), Triastcyn & Faltings 2020, Table 1", BAYESIAN),
        ),
    )  # fmt: skip
    facts = TableFacts(
        account=run,
        estimate=float(run.estimate[-1]),
        guaranteed=float(run.guaranteed[-1]),
        person=float(run.person[-1]),
        each=float(run.each[-1]),
        floor=floor,
    )
    return Answer(plot, facts)


def headline(f: TableFacts) -> str:
    weights = " on all weights" if f.account.settings["share"] == 1.0 else ""
    return (
        f"The authors' procedure{weights} gives a Bayesian ε of <b>{numbers.epsilon(f.estimate)}</b> here (printed: "
        f"{PRINTED:g}), which is an <b>estimate, no guarantee</b>. The same steps guarantee only "
        f"<b>ε ≤ {numbers.up(f.guaranteed)}</b>."
    )


def metrics(f: TableFacts) -> Iterator[Metric]:
    yield Metric("Authors' estimate", f"≈ {numbers.epsilon(f.estimate)}", f"no guarantee; printed {PRINTED:g}")
    yield Metric("Guaranteed, DP", f"ε ≤ {numbers.up(f.guaranteed)}", f"anyone; printed {PRINTED_DP:g}")
    yield Metric("One step alone", f"ε ≤ {numbers.up(f.account.one)}", "guaranteed, anyone")
    yield Metric("Each clipped first", f"ε ≤ {numbers.up(f.each)}", "guaranteed, same noise")


def notes(f: TableFacts) -> Iterator[Note]:
    settings, result = f.account.settings, f.account.result
    share = numbers.percent(f.floor / f.estimate)
    yield Note(
        f"Printed {PRINTED:g}, here {numbers.epsilon(f.estimate)}: {share} of it is ln(1/δ_μ)/{LAST_ORDER} = "
        f"{numbers.plain(f.floor, digits=4)}, which no data can change. The rest depends on the gradients; the "
        "authors' network is larger and has batch normalisation.",
        "printed",
    )
    yield Note(
        "The estimate is no guarantee. A step has 28 distances, from 8 means that share all but one example, so they "
        f"are not independent, and they cannot exclude a distance of 2C. Here the longest was "
        f"{numbers.up(max(map(max, result['distances'])))} C, at the ends of epochs.",
        "caution",
    )
    yield Note(
        f"Printed {PRINTED_DP:g} for DP: the paper does not say with which noise. At σ = "
        f"{settings['noise_multiplier']:g}, one example can turn a mean of length C around and move it by 2C. Clipping "
        "each example to C first limits that to C divided by the batch, which is why the same noise then guarantees "
        "so much more."
    )
    yield Note(
        f"Nobody in these batches moved the mean by more than {numbers.up(float(f.account.moved[-1]))} C. Someone who "
        f"does so in every step has ε ≤ {numbers.up(f.person)}; a person with other data may have far more."
    )
    accuracy = numbers.tenths(result["test_accuracy"])
    yield Note(
        f"Recorded run: {f.account.record.made}; test accuracy {accuracy} (printed: 96 %). make papers repeats it."
    )


FORMULAS = (
    Formula(
        "A step of the notebook",
        r"\theta \leftarrow \theta - \eta\, m \odot \big(\bar g \min(1, C/\lVert\bar g\rVert) +"
        r" \mathcal N(0, \sigma^2C^2 I)\big),\quad \bar g = \tfrac1B\sum_i g_i",
    ),
    Formula(
        "Its distances",
        r"d_{ij} = \lVert m \odot (\bar g_{-i} - \bar g_{-j})\rVert,\quad \bar g_{-i} = \tfrac1{B-1}\sum_{k\neq i} g_k"
        r"\text{, clipped to } C",
    ),
    Formula(
        "Estimate (Triastcyn & Faltings 2020, Theorem 2)",
        r"\varepsilon_\mu = \min_\lambda\frac{1}{\lambda}\Big(\sum_t \hat c_t(\lambda,T) -"
        r" \ln(\delta_\mu - T\gamma)\Big)",
    ),
)


def assumptions(f: TableFacts) -> str:
    run = f.account.settings
    orders = ", ".join(map(str, run["orders"]))
    return f"""
- **The procedure** is that of the authors' public notebook: {run["steps"]} steps, batches of {run["batch_size"]:,},
  C = {run["max_grad_norm"]:g} for the mean of a batch, noise σC with σ = {run["noise_multiplier"]:g} on that mean, step
  size {run["learning_rate"]:g}, distances of 8 means that leave one example out each, λ in {orders},
  γ = {numbers.delta(run["estimator_failure"])} for each step, δ_μ = 1e-10.
- **Differences:** the included CNN and 10,000 digits instead of theirs and 60,000. The sampling rate is that of 60,000.
  Their batches are a shuffled pass; here, and in every ε, each is drawn anew.
- **DP** is for one person added or removed at δ = 1e-5, by the PLD accountant. Two clipped means differ by at most 2C.
- **A random tenth of the weights:** the same weights are compared and updated. For DP, leaving coordinates out
  reveals no more, whatever their number.
- **A recorded run** has a known seed: it shows what happens but protects nobody.
"""


TABLE_1 = Question(
    "bdp_table1",
    "Bayesian DP, Table 1: MNIST by the authors' procedure",
    table_1,
    Words(headline, metrics, notes, lambda _: FORMULAS, assumptions),
    asks="estimate",
    more={"One run again": lambda _: (Rerun(RECORD),)},
    option="table1",
)

"""Epochs, cost and assumed accuracy of adaptive noise, adaptive batches and fine-tuning: how long can they train?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd

from dpviz.accounting.adaptive.filter import NAME as FILTER
from dpviz.accounting.adaptive.policies import AdaptiveBatch, AdaptiveNoise, FineTuning, Fixed, Policy, Setting
from dpviz.accounting.adaptive.policy_trajectory import (
    MARGIN_EPOCHS,
    PolicyTrajectory,
    Scenario,
    policy_trajectory,
)
from dpviz.charts import Axis, Column, Line, LinePlot, look
from dpviz.fields import choice, number, numbers
from dpviz.questions import (
    DELTA,
    LOG_Y,
    RATE,
    SIGMA,
    SIZE,
    Answer,
    Formula,
    Metric,
    Note,
    Question,
    Words,
    published,
    setting,
    units,
)
from dpviz.questions.budget import shared
from dpviz.questions.budget.shared import ASSUMPTIONS, NAMES, ODOMETER, QUANTITIES, budget_axis, floors
from dpviz.questions.layout import FieldControl, Layout, Reader, experts
from dpviz.questions.mechanism import shown_delta

ACCOUNT = choice("bread")
NOISE_STEP = number("bnstep")
BATCH_STEP = number("bbstep")
MARGIN = number("bmargin", default=float(MARGIN_EPOCHS))
SEED = number("bseed")

[SETTING] = published("fo1assumed")  # with the defaults of other pages, σ = 4, policies hardly differ
ENDS = {"budget": "budget used up", "goal": "goal reached", "epochs": "all epochs done"}
COLUMNS = ("policy", "epoch", "σ", "batch", "accuracy (assumed)", "ε filled", "ε odometer")


@dataclass(frozen=True, eq=False)
class PolicyFacts:
    """What each policy does.

    Attributes:
        trajectories: by the policy's key.
        scenario: what they assume.
        target: the budget, None where an odometer reads.
        most_epochs: after which training ends.
        margin: epochs that a policy keeps in reserve.
    """

    trajectories: Mapping[str, PolicyTrajectory]
    scenario: Scenario
    target: float | None
    most_epochs: int
    margin: int
    delta: float
    variant: str
    filter_orders: str

    @property
    def epochs(self) -> dict[str, int]:
        """How many each policy trains."""
        return {key: int(trajectory.epochs[-1]) for key, trajectory in self.trajectories.items()}

    @property
    def adaptive(self) -> list[str]:
        return [key for key in self.trajectories if key != "fixed"]

    @property
    def capped(self) -> bool:
        """Whether every policy trains as long as is asked for at most, and none uses up the budget."""
        ends = {trajectory.ended for trajectory in self.trajectories.values()}
        return self.target is not None and ends == {"epochs"}

    @property
    def blocked(self) -> list[str]:
        """The policies that would have saved budget and had too little left."""
        return [NAMES[key] for key in self.adaptive if self.trajectories[key].blocked.any()]


@dataclass(frozen=True, eq=False)
class TrajectoryPlot(LinePlot):
    """One quantity of several trajectories; table and file have all quantities, a row a policy and epoch."""

    trajectories: Mapping[str, PolicyTrajectory] = field(default_factory=dict)

    def with_pinned(self, pinned: Sequence[tuple[str, Any]]) -> Self:
        """With what is kept of plots of the same quantity."""
        return super().with_pinned(
            [(n, p) for n, p in pinned if isinstance(p, TrajectoryPlot) and p.y.title == self.y.title]
        )

    def table(self) -> pd.DataFrame:
        rows = [
            cells(NAMES[key], trajectory, int(epoch))
            for key, trajectory in self.trajectories.items()
            for epoch in np.unique(np.linspace(0, trajectory.accuracy.size - 1, 11).round())
        ]
        return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"epoch": int})

    def data(self) -> pd.DataFrame:
        quantities = {
            "epoch": "epochs",
            "noise_multiplier": "noise_multiplier",
            "batch_size": "batch_size",
            "accuracy_assumed": "accuracy",
            "count": "count",
            "epsilon_planned": "planned",
            "epsilon_odometer": "odometer",
        }
        several = self.trajectories.values()
        return pd.DataFrame(
            {"policy": [key for key, trajectory in self.trajectories.items() for _ in trajectory.epochs]}
            | {
                column: np.concatenate([np.zeros(0), *(getattr(trajectory, name) for trajectory in several)])
                for column, name in quantities.items()
            }
        )


def cells(policy: str, trajectory: PolicyTrajectory, epoch: int) -> dict[str, object]:
    """A row of the table: one epoch."""
    return {
        "policy": policy,
        "epoch": epoch,
        "σ": numbers.plain(trajectory.noise_multiplier[epoch], digits=4),
        "batch": numbers.steps(trajectory.batch_size[epoch]),
        "accuracy (assumed)": f"{100 * trajectory.accuracy[epoch]:.1f} %",
        "ε filled": numbers.up(trajectory.planned[epoch], 4),
        "ε odometer": numbers.up(trajectory.odometer[epoch], 4),
    }


def policy(
    *,
    noise_multiplier: Annotated[float, SIGMA],
    sample_rate: Annotated[float, RATE],
    size: Annotated[int, SIZE],
    delta: Annotated[float, DELTA],
    target_epsilon: Annotated[float, shared.TARGET],
    account: Annotated[str, ACCOUNT],
    filter_orders: Annotated[str, shared.ORDERS],
    variant: Annotated[str, shared.VARIANT],
    policies: Annotated[tuple[str, ...], shared.POLICIES],
    shown: Annotated[str, shared.SHOWN],
    epochs: Annotated[int, number("bepochs")],
    margin: Annotated[int, MARGIN],
    noise_step: Annotated[float, NOISE_STEP],
    batch_step: Annotated[int, BATCH_STEP],
    goal: Annotated[float, number("bgoal")],
    top: Annotated[float, number("btop")],
    pace: Annotated[float, number("bpace")],
    seed: Annotated[int, SEED],
    log_y: Annotated[bool, LOG_Y],
) -> Answer[PolicyFacts]:
    """What each policy's epochs use, cost and (assumed) reach."""
    size = min(size, 10**9)
    batch = round(sample_rate * size)
    if batch < 1:
        raise ValueError(
            f"q = {sample_rate:.3g} of N = {size} examples is less than one example per batch: raise q or N."
        )
    if size / batch > 1e7:
        raise ValueError(f"An epoch would have {size / batch:.3g} steps: raise q (batches of more examples).")
    scenario = Scenario(size=size, top=top, pace=pace, seed=seed)
    target = target_epsilon if account == FILTER else None
    start = Setting(noise_multiplier, batch)
    trajectories = {
        key: policy_trajectory(
            first_state(key, start, noise_step=noise_step, batch_step=batch_step, goal=goal * size),
            scenario,
            delta=delta,
            target_epsilon=target,
            most_epochs=epochs,
            variant=variant,
            filter_orders=filter_orders,
            margin_epochs=margin,
        )
        for key in policies
    }
    end = max((float(trajectory.epochs[-1]) for trajectory in trajectories.values()), default=1.0)
    costs = shown == "epsilon"
    budget = target if costs else None
    quantity = QUANTITIES.get(shown, "odometer" if target is None else "planned")
    plot = TrajectoryPlot(
        x=Axis("epochs", shown=(0.0, max(end, 1.0)), hover="%{x:,d} epochs"),
        y=budget_axis(shown, "accuracy (assumed)", log=log_y, budget=budget),
        lines=tuple(
            Line(
                key,
                NAMES[key],
                trajectory.epochs,
                getattr(trajectory, quantity),
                ODOMETER if costs else look.SOLID,
                color=look.POLICIES[key],
                hover=(Column("σ", trajectory.noise_multiplier), Column("batch", trajectory.batch_size)),
            )
            for key, trajectory in trajectories.items()
        ),
        floors=floors(budget),
        trajectories=trajectories,
    )
    facts = PolicyFacts(
        trajectories=trajectories,
        scenario=scenario,
        target=target,
        most_epochs=epochs,
        margin=margin,
        delta=delta,
        variant=variant,
        filter_orders=filter_orders,
    )
    return Answer(plot, facts)


def first_state(key: str, start: Setting, *, noise_step: float, batch_step: int, goal: float) -> Policy:
    """The policy called `key` before its first count; `start` is the baseline, `goal` in examples."""
    if key == "noise":
        return AdaptiveNoise(start, step=noise_step)
    if key == "batch":
        return AdaptiveBatch(start, step=batch_step)
    if key == "tune":
        sigma = start.noise_multiplier
        return FineTuning(start._replace(noise_multiplier=2 * sigma), step=noise_step, least_noise=sigma, goal=goal)
    return Fixed(start)


def headline(f: PolicyFacts) -> str:
    if not f.trajectories:
        return "No policy is switched on: choose one beside the chart."
    budget = (
        "an odometer"
        if f.target is None
        else f"the budget <b>{setting(shared.TARGET, 'ε =', numbers.at_most(f.target, 4))}</b>"
    )
    given = f"With {budget} at {shown_delta(f.delta)} and an assumed accuracy"
    if f.capped:
        return f"{given}, <b>no policy</b> uses up the budget within <b>{f.most_epochs}</b> epochs."
    lengths = [f"{NAMES[key]} {length(epochs, f.trajectories[key].ended)}" for key, epochs in f.epochs.items()]
    return f"{given}, the policies train this long: {', '.join(lengths)}."


def length(epochs: int, ended: str) -> str:
    """ "<b>120</b> epochs": how long a policy trains."""
    if epochs == 0 and ended == "budget":
        return "<b>not one epoch</b>"
    return f"<b>{epochs}</b> epoch{'' if epochs == 1 else 's'}"


def metrics(f: PolicyFacts) -> Iterator[Metric]:
    for key, trajectory in f.trajectories.items():
        accuracy = f"accuracy {100 * trajectory.accuracy[-1]:.1f} % (assumed)"
        yield Metric(
            NAMES[key].capitalize(),
            f"{trajectory.epochs[-1]:.0f} epochs",
            f"{accuracy}; {ENDS[trajectory.ended]}",
        )
    if len(f.trajectories) < len(NAMES):
        delta = numbers.delta(f.delta)
        if f.target is None:
            yield Metric("Account", "odometer", f"δ = {delta}, holds at any stop")
        else:
            yield Metric("Budget ε", numbers.at_most(f.target, 4), f"filter at δ = {delta}")


def notes(f: PolicyFacts) -> Iterator[Note]:
    yield Note(
        "Nothing is trained here: the accuracy is assumed (see Assumptions), so epochs and accuracy are an "
        "illustration. The privacy cost is exact for the steps and counts that the policies then ask for. “What did "
        "trained policies reach?” shows real runs."
    )
    if f.target is not None and f.adaptive and f.filter_orders == "paper":
        yield Note(
            "The filter uses all orders with the whole δ each, as in the paper. If results choose noise or batch, that "
            "is not proved. Choose “Yes: one order, fixed in advance” under “Steps may depend on results”: only then "
            "is the budget proven.",
            "caution",
        )
    if f.blocked:
        yield Note(
            f"After some counts, {' and '.join(f.blocked)} did not save budget, because at most "
            f"{numbers.steps(f.margin)} epochs were left (“Epochs to keep in reserve”, an expert setting of Show)."
        )


def formulas(f: PolicyFacts) -> Iterator[Formula]:
    pace, top, toll, wobble = map(numbers.tex, (f.scenario.pace, f.scenario.top, f.scenario.toll, f.scenario.wobble))
    yield Formula(
        "assumed accuracy after each epoch",
        rf"a \leftarrow a + {pace}\left({top} - {toll}\,\ln\frac{{\sigma/B}}{{1/512}} - a\right)"
        rf" + {wobble}\,\mathcal N(0,1)",
    )
    yield shared.count_formula(rf"{f.scenario.size}\,a", 100)


def layout(get: Reader) -> Layout:
    on, filtered = get(shared.POLICIES), get(ACCOUNT) == FILTER
    acts = {
        NOISE_STEP: "noise" in on or "tune" in on,
        BATCH_STEP: "batch" in on,
        MARGIN: filtered and ("noise" in on or "batch" in on),
        SEED: True,
    }
    typed = [setting for setting, does in acts.items() if does]
    return {
        "Budget": (
            "policies",
            "shown",
            "account",
            *((shared.TARGET, *experts(shared.ORDERS)) if filtered else ()),
            "epochs",
        ),
        "Mechanism": (SIGMA, units.in_units(SIZE, RATE), units.suggested(SIZE, get)),
        "Show": (
            "top",
            "pace",
            *(("goal",) if "tune" in on else ()),
            *((LOG_Y,) if get(shared.SHOWN) == "epsilon" else ()),
            *experts(*(FieldControl(tuple(typed[i : i + 2])) for i in range(0, len(typed), 2)), shared.VARIANT),
        ),
    }


POLICY = Question(
    "policy",
    "How long can adaptive policies train?",
    policy,
    Words(headline, metrics, notes, formulas, ASSUMPTIONS),
    asks="epochs",
    presets=(SETTING,),
    opens=SETTING,
    layout=layout,
    more={"Accountants": lambda answer: shared.accountants(answer.facts.variant)},
)

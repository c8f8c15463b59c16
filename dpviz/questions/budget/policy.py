"""What adaptive noise, adaptive batches and fine-tuning would do and cost on an assumed accuracy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd

from dpviz._arrays import Array
from dpviz.accounting.adaptive.filter import NAME as FILTER
from dpviz.accounting.adaptive.policies import (
    AdaptiveBatch,
    AdaptiveNoise,
    FineTuning,
    Fixed,
    Policy,
    PolicyTrajectory,
    Scenario,
    Setting,
    policy_trajectory,
)
from dpviz.charts import Axis, Column, Line, LinePlot
from dpviz.fields import Number
from dpviz.questions import DELTA, LOG_Y, RATE, SIGMA, SIZE, Answer, make_question, table, units
from dpviz.questions.budget import shared
from dpviz.questions.budget.shared import COLORS, NAMES, ODOMETER, QUANTITIES, accountants, budget_axis, floors
from dpviz.questions.layout import Expert, Groups, InUnits, Reader, Row, experts

ENDS = {"budget": "budget used up", "goal": "goal reached", "epochs": "all epochs done"}


@dataclass(frozen=True, eq=False)
class Trajectories:
    """One trajectory a policy, by key; what they assume; the budget, None where an odometer reads."""

    trajectories: dict[str, PolicyTrajectory]
    scenario: Scenario
    target: float | None
    names = NAMES
    ends = ENDS

    @property
    def adaptive(self) -> list[str]:
        return [key for key in self.trajectories if key != "fixed"]

    @property
    def held(self) -> list[str]:
        """The policies that would have saved budget and had too little left."""
        return [NAMES[key] for key in self.adaptive if self.trajectories[key].blocked.any()]

    def account(self, trajectory: PolicyTrajectory) -> Array:
        """ε by the account that was chosen."""
        return trajectory.odometer if self.target is None else trajectory.planned


@dataclass(frozen=True, eq=False)
class TrajectoryPlot(LinePlot):
    """One quantity of several trajectories; table and file have all quantities, a row a policy and epoch."""

    facts: Trajectories | None = None

    @property
    def trajectories(self) -> dict[str, PolicyTrajectory]:
        return self.facts.trajectories if self.facts is not None else {}

    def beside(self, pinned: Sequence[tuple[str, Any]]) -> Self:
        """With what is kept of plots of the same quantity."""
        return super().beside(
            [(n, p) for n, p in pinned if isinstance(p, TrajectoryPlot) and p.y.title == self.y.title]
        )

    def table(self) -> pd.DataFrame:
        places = [
            (NAMES[key], trajectory, int(epoch))
            for key, trajectory in self.trajectories.items()
            for epoch in np.unique(np.linspace(0, trajectory.accuracy.size - 1, 11).round())
        ]
        return table("budget", "epochs", places, "epoch")

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


def policy(
    *,
    noise_multiplier: Annotated[float, SIGMA],
    sample_rate: Annotated[float, RATE],
    size: Annotated[int, SIZE],
    delta: Annotated[float, DELTA],
    target_epsilon: Annotated[float, shared.TARGET],
    account: Annotated[str, shared.ACCOUNT],
    one_order: Annotated[bool, shared.ONE_ORDER],
    variant: Annotated[str, shared.VARIANT],
    policies: Annotated[tuple[str, ...], shared.POLICIES],
    shown: Annotated[str, shared.SHOWN],
    epochs: Annotated[int, shared.EPOCHS],
    margin: Annotated[int, shared.MARGIN],
    noise_step: Annotated[float, shared.NOISE_STEP],
    batch_step: Annotated[int, shared.BATCH_STEP],
    goal: Annotated[float, shared.GOAL],
    top: Annotated[float, shared.TOP],
    pace: Annotated[float, shared.PACE],
    seed: Annotated[int, shared.SEED],
    log_y: Annotated[bool, LOG_Y],
) -> Answer[Trajectories]:
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
            one_order=one_order,
            margin_epochs=margin,
        )
        for key in policies
    }
    facts = Trajectories(trajectories, scenario, target)
    end = max((float(trajectory.epochs[-1]) for trajectory in trajectories.values()), default=1.0)
    costs = shown == "epsilon"
    budget = target if costs else None
    plot = TrajectoryPlot(
        x=Axis("epochs", shown=(0.0, max(end, 1.0)), hover="%{x:,d} epochs"),
        y=budget_axis(shown, "accuracy (assumed)", log=log_y, budget=budget),
        lines=tuple(
            Line(
                key,
                NAMES[key],
                trajectory.epochs,
                facts.account(trajectory) if costs else getattr(trajectory, QUANTITIES[shown]),
                ODOMETER,
                color=COLORS[key],
                hover=(Column("σ", trajectory.noise_multiplier), Column("batch", trajectory.batch_size)),
            )
            for key, trajectory in trajectories.items()
        ),
        floors=floors(budget),
        facts=facts,
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


def layout(get: Reader) -> Groups:
    on, filtered = get(shared.POLICIES), get(shared.ACCOUNT) == FILTER
    acts: dict[Number, bool] = {
        shared.NOISE_STEP: "noise" in on or "tune" in on,
        shared.BATCH_STEP: "batch" in on,
        shared.MARGIN: filtered and ("noise" in on or "batch" in on),
        shared.SEED: True,
    }
    typed = [field for field, does in acts.items() if does]
    return {
        "Budget": (
            shared.POLICIES,
            shared.SHOWN,
            shared.ACCOUNT,
            *((shared.TARGET, Expert(shared.ONE_ORDER)) if filtered else ()),
            shared.EPOCHS,
        ),
        "Mechanism": (SIGMA, InUnits((SIZE, RATE)), units.suggested(SIZE, get)),
        "Show": (
            shared.TOP,
            shared.PACE,
            *((shared.GOAL,) if "tune" in on else ()),
            *((LOG_Y,) if get(shared.SHOWN) == "epsilon" else ()),
            *experts(*(Row(tuple(typed[i : i + 2])) for i in range(0, len(typed), 2)), shared.VARIANT),
        ),
    }


POLICY = make_question(
    "budget/policy", policy, layout, more={"Accountants": lambda answer: accountants(answer.given["variant"])}
)

"""What several policies did, epoch by epoch, as one plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpviz.accounting.adaptive.trajectory import PolicyTrajectory, Scenario
from dpviz.charts.plot import LinePlot
from dpviz.fields import numbers
from dpviz.questions.budget.words import in_table

Array = npt.NDArray[np.float64]

NAMES = {"fixed": "fixed", "noise": "adaptive noise", "batch": "adaptive batch", "tune": "fine-tuning"}
# What is drawn besides ε; the settings of an epoch stand at its end.
QUANTITIES = {"noise": "noise_multiplier", "batch": "batch_size", "accuracy": "accuracy"}


@dataclass(frozen=True, eq=False)
class Trajectories:
    """One trajectory a policy, by key; what they assume; the budget, None where an odometer reads."""

    trajectories: dict[str, PolicyTrajectory]
    scenario: Scenario
    target: float | None

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
        names = ("policy", "epoch", "σ", "batch", "accuracy (assumed)", "ε filled", "ε odometer")
        rows = []
        for key, trajectory in self.trajectories.items():
            last = trajectory.accuracy.size - 1
            rows += [
                (
                    NAMES[key],
                    int(e),
                    numbers.plain(trajectory.noise_multiplier[e], digits=4),
                    numbers.steps(trajectory.batch_size[e]),
                    f"{100 * trajectory.accuracy[e]:.1f} %",
                    in_table(float(trajectory.planned[e])),
                    in_table(float(trajectory.odometer[e])),
                )
                for e in np.unique(np.round(np.linspace(0, last, min(11, last + 1))).astype(int))
            ]
        return pd.DataFrame(rows, columns=names)

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

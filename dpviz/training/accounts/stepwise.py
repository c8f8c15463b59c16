"""Accountants fed one mechanism at a time: charging is a note, reading adds up all that was noted.

>>> from dpviz.accounting.methods import Renyi
>>> accounts = StepAccounts({"renyi": Trajectory(Renyi(), 1e-5)})
>>> [accounts.step(SampledGaussian(2.0, 0.1), None) for _ in range(3)]
[True, True, True]
>>> [round(epsilon, 3) for epsilon in accounts.readings()["renyi"]]
[0.526, 0.593, 0.649]
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz._arrays import Array
from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.accounting.renyi.additive import AdditiveAccountant, RunningSum
from dpviz.mechanisms import Event, History, Mechanism, SampledGaussian
from dpviz.training.accounts.bayesian import BayesianAccount
from dpviz.training.samplers import read, steps_of, stored

# Rényi at δ_μ, above which no Bayesian ε by norms is said: whatever bounds DP bounds Bayesian DP.
CEILING = "renyi at delta_mu"
MARKS = 60
MOST_DIFFERENT = 64  # mechanisms that the tight accountant composes one by one in well under a second


class Trajectory:
    """One accountant along a run; the same arithmetic as `Ledger`, to the last digit.

    A live run charges at every step and shows what it spent a few times a second. Adding up is cheap; turning the sum
    into ε is not, and costs hardly more for all the steps since the last look than for one.

    >>> from dpviz.accounting.methods import Renyi
    >>> Trajectory(Renyi(), 1e-5).read([SampledGaussian(2.0, 0.1)] * 3).round(3).tolist()
    [0.526, 0.593, 0.649]

    Args:
        accountant: Whose divergences are added up.
        delta: δ of the readings.
    """

    def __init__(self, accountant: AdditiveAccountant, delta: float) -> None:
        self._accountant, self._delta = accountant, delta
        self._sum = RunningSum(accountant)
        self._counts: dict[Mechanism, int] = {}

    def begin(self, mechanism: Mechanism, count: int) -> float:
        """`count` charges at once, as before a run; ε after them."""
        return float(self._epsilons(mechanism, np.array([float(count)]))[0])

    def read(self, charges: Sequence[Mechanism]) -> Array:
        """ε after each further charge, (n,)."""
        groups = [(mechanism, np.arange(1.0, len(list(same)) + 1.0)) for mechanism, same in itertools.groupby(charges)]
        if not groups:
            return np.zeros(0)
        if self._accountant.searches(1):
            return np.concatenate([self._epsilons(*group) for group in groups])
        totals = np.concatenate([self._after(*group) for group in groups])
        return np.asarray(self._accountant.bound(totals, self._delta).epsilon)

    def _epsilons(self, mechanism: Mechanism, counts: Array) -> Array:
        """ε after each of these numbers of charges of `mechanism`; an accountant may look between its orders."""
        before, totals = self._counts.get(mechanism, 0), self._after(mechanism, counts)
        if not self._accountant.searches(len(self._counts)):
            return np.asarray(self._accountant.bound(totals, self._delta).epsilon)
        rows = np.tile(np.array(list(self._counts.values()), dtype=np.float64), (counts.size, 1))
        rows[:, list(self._counts).index(mechanism)] = before + counts
        return np.asarray(self._accountant.of_counts(tuple(self._counts), rows, self._delta).epsilon)

    def _after(self, mechanism: Mechanism, counts: Array) -> Array:
        """Divergences after each of these numbers of charges, ascending, (counts, orders); the last one was taken."""
        totals, taken = self._sum.after(mechanism, counts), int(counts[-1])
        self._sum.add(mechanism, taken)
        self._counts[mechanism] = self._counts.get(mechanism, 0) + taken
        return totals


class TightTrajectory:
    """The tight accountant along a run that no other one knows.

    It takes some ms to read, so that a long run is read at MARKS numbers of charges; between them the next one's ε
    stands, which errs above.
    """

    def __init__(self, delta: float, total: int) -> None:
        self._delta, self._total, self._every = delta, total, max(1, total // MARKS)
        self._events: dict[Mechanism, int] = {}
        self._last: tuple[dict[Mechanism, int], float] = ({}, 0.0)

    def begin(self, mechanism: Mechanism, count: int) -> float:
        """As `Trajectory.begin`."""
        self._events[mechanism] = taken = self._events.get(mechanism, 0) + count
        marked = math.ceil(taken / self._every) * self._every
        asked = self._events | {mechanism: max(taken, min(marked, self._total))}
        if asked != self._last[0]:
            few = len(asked) <= MOST_DIFFERENT
            events = tuple(asked.items())
            self._last = asked, float(tight_epsilon_of_events(events, self._delta).upper) if few else math.inf
        return self._last[1]

    def read(self, charges: Sequence[Mechanism]) -> Array:
        """ε after each further charge, (n,)."""
        return np.array([self.begin(mechanism, 1) for mechanism in charges])


class StepAccounts:
    """What was spent, by every accountant, after each step.

    Attributes:
        taken: Training steps.
        bayesian: The Bayesian account, None if it was not asked for.

    Args:
        trajectories: Accountants by name.
        bayesian: As above.
        ceiling: Whose reading no Bayesian ε exceeds, a key of `trajectories`; "" for nobody's.
        before: What was spent on the same data before: every reading begins with it, `events` do not hold it.
    """

    def __init__(
        self,
        trajectories: Mapping[str, Trajectory | TightTrajectory],
        *,
        bayesian: BayesianAccount | None = None,
        ceiling: str = "",
        before: Iterable[Event] = (),
    ) -> None:
        self.bayesian = bayesian
        self._trajectories, self._ceiling = dict(trajectories), ceiling
        self._history: History[Mechanism] = History()
        self._noted: list[Mechanism] = []  # charged, not yet added up
        self._steps: list[int] = []  # for each training step, how many of them were charged by then
        self._covered = 0  # coming training steps that are charged already, with their epoch
        self.taken = 0
        self._now = dict.fromkeys(self._trajectories, 0.0)
        for mechanism, count in before:
            self._begin(mechanism, count)
        self._read: dict[str, list[float]] = {name: [] for name in self._trajectories}

    def _begin(self, mechanism: Mechanism, count: int) -> None:
        """Add charges of before to what every accountant reads."""
        for name, trajectory in self._trajectories.items():
            self._now[name] = trajectory.begin(mechanism, count)

    @property
    def epoch(self) -> Mechanism | None:
        """The mechanism of the epoch that the coming step is part of, where that is charged already."""
        return self._history.events[-1][0] if self._covered else None

    @property
    def covered(self) -> int:
        """Coming steps that are charged already, with their epoch."""
        return self._covered

    def step(self, mechanism: Mechanism, distances: npt.ArrayLike | None) -> bool:
        """A training step that ran, with its pair distances if Bayesian accounting is on.

        Returns:
            Whether it was charged: of an epoch that is charged as one, only the first step is.
        """
        charged = self._covered == 0
        if charged:
            self._charge(mechanism)
            self._covered = steps_of(mechanism)
            if self.bayesian is not None:
                assert isinstance(mechanism, SampledGaussian)  # as `RunSettings.check` sees to
                self.bayesian.charge(mechanism, () if distances is None else distances)
        elif self._history.events[-1][0] != mechanism:
            raise ValueError(f"Expected the epoch of {self._history.events[-1][0].text} to go on, found {mechanism}.")
        self._covered, self.taken = self._covered - 1, self.taken + 1
        self._steps.append(len(self._noted))
        return charged

    def count(self, mechanism: SampledGaussian) -> None:
        """A private count that was taken."""
        self._charge(mechanism)
        if self.bayesian is not None:
            self.bayesian.charge_certain(mechanism)

    def _charge(self, mechanism: Mechanism) -> None:
        self._noted.append(mechanism)
        self._history.add(mechanism)

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything charged, in order, equal neighbours merged."""
        return self._history.events

    def epsilons(self) -> dict[str, float]:
        """ε of everything charged so far, by each accountant."""
        self._add_up()
        epsilons = dict(self._now)
        if self.bayesian is not None:
            epsilons[bayesian.NAME] = min(self.bayesian.epsilon(), epsilons.get(self._ceiling, math.inf))
        epsilons.pop(CEILING, None)
        return epsilons

    def bayesian_ceiling(self) -> float:
        """ε at δ_μ by DP's own account, which bounds Bayesian DP too: Rényi, or moments for Definition 1."""
        self._add_up()
        worst = math.inf if self.bayesian is None else self.bayesian.worst_epsilon()
        return min(worst, self._now.get(self._ceiling, math.inf))

    def readings(self) -> dict[str, list[float]]:
        """ε after each training step since the last time this was asked, by each accountant."""
        self._add_up()
        readings, self._read = self._read, {name: [] for name in self._trajectories}
        if self.bayesian is not None:
            ceiling = readings.get(self._ceiling, itertools.repeat(math.inf))
            readings[bayesian.NAME] = [min(pair) for pair in zip(self.bayesian.readings(), ceiling, strict=False)]
        readings.pop(CEILING, None)
        return readings

    def _add_up(self) -> None:
        for name, trajectory in self._trajectories.items():
            epsilons = [self._now[name], *trajectory.read(self._noted).tolist()]
            self._now[name] = epsilons[-1]
            self._read[name].extend(epsilons[at] for at in self._steps)
        self._noted, self._steps = [], []


def encoded(mechanisms: Iterable[Mechanism]) -> list[list[Any]]:
    """[[σ, q, count], …] (`samplers.stored`): equal neighbours merged, in order."""
    return encoded_events([(mechanism, len(list(same))) for mechanism, same in itertools.groupby(mechanisms)])


def encoded_events(events: Sequence[Event]) -> list[list[Any]]:
    return [stored(mechanism, count) for mechanism, count in events]


def decoded(events: Iterable[Sequence[Any]]) -> list[Mechanism]:
    """The mechanisms of `encoded`, one by one."""
    return [mechanism for mechanism, count in map(read, events) for _ in range(count)]

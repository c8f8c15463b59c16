"""Facts of the answer: ε along the steps under every chosen method, and what is added once it is computed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.attack.best_accuracy import Accuracy
from dpviz.accounting.bound import Bound, Kind
from dpviz.accounting.methods import Accountant, Moments, Renyi, Tight
from dpviz.mechanisms import Mechanism
from dpviz.questions import Note, guessing
from dpviz.questions.compose.distribution import LawCost, SampledCost
from dpviz.questions.compose.options import BayesianOptions
from dpviz.questions.compose.sample import Beside, Promise
from dpviz.questions.shared import LAW
from dpviz.questions.tight_band import TightBand

LONGER = 4  # times as many steps: twice the ε where it grows as √T


@dataclass(frozen=True, eq=False)
class ComposeFacts:
    """ε at `grid` (steps: shape (n,), whole, increasing) under each chosen method.

    Attributes:
        curves: keys of all that are switched on.
        amplification: which rule of amplification by sampling is used where two are known.
        tried: how many runs there are on average, of which the best is released.
        runs_law: how their number is drawn.
        options: of Bayesian DP.
        bounds: key → the accountant's answer.
        accountants: key → the accountant.
        possible: keys of the curves that there are under this mechanism.
        excluded: keys of the others → why there are none.
        law: Bayesian DP of a known distribution; None where it is off, is for a sample, or has no number.
        same: the same for one person in every step, beside a `law` of another in each; None without that.
        bayesian: what Bayesian DP promises for a sample; None likewise. `problem` says why there is no number.
        tight, accuracy: the tight interval, and the best attack's after all steps; None until they are there, and
            (½, 1) where the privacy loss is not known.
        longer: ε after `LONGER` times the steps, by the numerical accountant; NaN where it has none, None until it is
            there.
        rank: the tight interval of the known distribution where ranks are kept; None until it is there.
        sampled: what a sample of it would say; None until it is there, and where none is asked.
        beside: what is worked out beside the Bayesian curves of a sample; None until it is there.
        tuned: ε of the best of `tried` runs on average; None until it is there, and inf where it has no bound: why is
            `untuned`.
    """

    mechanism: Mechanism
    steps: int
    delta: float
    grid: Array
    log_steps: bool
    curves: tuple[str, ...]
    amplification: str
    tried: int
    runs_law: str
    options: BayesianOptions
    bounds: Mapping[str, Bound]
    accountants: Mapping[str, Accountant]
    possible: tuple[str, ...]
    excluded: Mapping[str, str]
    law: LawCost | None = None
    same: LawCost | None = None
    bayesian: Promise | None = None
    problem: tuple[Note, ...] = ()
    tight: TightBand | None = None
    accuracy: Accuracy | None = None
    longer: float | None = None
    rank: TightBand | None = None
    sampled: SampledCost | None = None
    beside: Beside | None = None
    tuned: float | None = None
    untuned: str = ""

    @property
    def valid(self) -> frozenset[str]:
        """Keys of those that are bounds here, no approximations: their accountants know."""
        return frozenset(key for key, one in self.accountants.items() if one.kind is Kind.UPPER)

    @property
    def tightest(self) -> str | None:
        """The valid DP method with the smallest ε at the last step; None when none has one."""
        ends = {key: float(bound.epsilon[-1]) for key, bound in self.bounds.items() if key in self.valid}
        finite = {key: value for key, value in ends.items() if np.isfinite(value)}
        return min(finite, key=lambda key: finite[key]) if finite else None

    @property
    def numerical(self) -> bool:
        """Whether the numerical accountant has the smallest ε after all steps."""
        if self.tight is None or math.isnan(self.tight.upper[-1]):
            return False
        return self.tightest is None or self.tight.upper[-1] <= self.bounds[self.tightest].epsilon[-1]

    @property
    def epsilon(self) -> float:
        """The smallest upper bound on ε after all steps, of the curves and the numerical interval; inf for none."""
        if self.numerical and self.tight is not None:
            return float(self.tight.upper[-1])
        return math.inf if self.tightest is None else float(self.bounds[self.tightest].epsilon[-1])

    @cached_property
    def later_epsilon(self) -> float | None:
        """ε after `LONGER` times the steps, by the accountant of `epsilon`; None where there is none."""
        if self.numerical:
            return self.longer
        if self.tightest is None:
            return None
        later = self.accountants[self.tightest].epsilon_of(self.mechanism, steps=LONGER * self.steps, delta=self.delta)
        return float(later.epsilon)

    @property
    def growth(self) -> float | None:
        """How many times ε `LONGER` times the steps cost, by the told bounds; None while or where not known."""
        if self.tight is None and Tight.name in self.curves and Tight.name not in self.excluded:
            return None  # its accountant will be told, and another is not asked meanwhile
        later = self.later_epsilon
        if later is None or not (math.isfinite(later) and 0.0 < self.epsilon < math.inf):
            return None
        return later / self.epsilon

    @property
    def guess(self) -> guessing.Guess:
        """How often the best attack is right after all steps."""
        return guessing.guess(self.epsilon, self.delta, self.accuracy)

    @property
    def promise(self) -> float:
        """ε_μ of Bayesian DP after all steps; NaN for none."""
        if self.law is not None:
            return self.law.last
        return math.nan if self.bayesian is None else self.bayesian.last

    @property
    def runs_words(self) -> str:
        """How the number of runs is drawn, in words."""
        return LAW.options[self.runs_law]

    @property
    def hardly(self) -> bool:
        """Whether Bayesian DP of the known distribution is near what the same conversion says of DP."""
        same_reading = self.bounds.get((Renyi if self.options.definition == "2" else Moments)().family)
        return (
            self.law is not None and same_reading is not None and self.law.last > 0.95 * float(same_reading.epsilon[-1])
        )

    @property
    def too_low(self) -> tuple[float, float, float, bool] | None:
        """Where the estimate is below the true cost: the first such step, both at T, and whether it is below there."""
        estimate = None if self.bayesian is None else self.bayesian.estimate
        if estimate is None or self.beside is None or self.beside.truth is None:
            return None
        at = estimate.epsilon[np.searchsorted(self.grid, self.beside.steps)]
        below = at < self.beside.truth.lower
        if not below.any():
            return None
        first = float(self.beside.steps[int(np.argmax(below))])
        return first, float(at[-1]), float(self.beside.truth.lower[-1]), bool(below[-1])

    def reason(self, key: str) -> str:
        """Why a curve has no value, where it has none."""
        bound = self.bounds[key]
        return bound.reason or ("proves no finite ε here." if np.isinf(bound.epsilon).all() else "")

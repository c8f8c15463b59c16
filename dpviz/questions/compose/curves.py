"""Every accountant's ε along the steps, for one setting."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.attack.best_accuracy import Accuracy
from dpviz.accounting.attack.membership import attack_success
from dpviz.accounting.bayesian.accountant import BayesianBound
from dpviz.accounting.bound import Bound, Kind
from dpviz.accounting.methods import BAYESIAN, Accountant, Moments, Renyi, Tight
from dpviz.charts import Column, Floor, Line, LinePlot
from dpviz.fields import choice, number, several
from dpviz.mechanisms import Mechanism, SampledGaussian
from dpviz.questions import DELTA, STEPS, Answer, Note, Reader, guessing, kinds
from dpviz.questions.compose.bayesian import (
    Beside,
    LawCost,
    Promise,
    SampledCost,
    law_cost,
    law_steps,
    orders_of,
    promised,
)
from dpviz.questions.gradient_fields import gradients_where
from dpviz.questions.gradients import Gradients, Law, no_bayesian, tail
from dpviz.questions.methods import (
    NAMES,
    OFFERED,
    coarse,
    epsilon_axis,
    left_out,
    method,
    offered,
    step_grid,
    steps_axis,
)
from dpviz.questions.shared import AMPLIFICATION, CLIP, DELTA_MU, FAILURE, LAW, LOG_X, LOG_Y, TRIED
from dpviz.questions.tight_band import TightBand

CURVES = several("curves", options=OFFERED | {Tight.name: NAMES[Tight.name]})
QUANTILE = number("quantile")
ORDER = number("lam")
DEFINITION = choice("bdef")
SAMPLES = number("m")
READING = choice("reading")
PSI = choice("psi")


def drawn(get: Reader) -> tuple[str, ...]:
    """The curves that are switched on, of those that there are."""
    return tuple(key for key in get(CURVES) if key in offered(CURVES, kinds.read(get)))


GRADIENTS = gradients_where(lambda get: BAYESIAN in drawn(get), laws=True)


@dataclass(frozen=True, eq=False)
class ComposeFacts:
    """ε at `steps` (shape (n,), whole, increasing) under each chosen method.

    Attributes:
        bounds: key → the accountant's answer.
        accountants: key → the accountant.
        left: keys of curves that there are none of under this mechanism → why.
        law: Bayesian DP of a known distribution; None where it is off, is for a sample, or has no number.
        bayesian: what Bayesian DP promises for a sample; None likewise. `problem` says why there is no number.
        tight, accuracy: the tight interval, and the best attack's after all steps; None until they are there, and
            (½, 1) where the privacy loss is not known.
        rank: the tight interval of the known distribution where ranks are kept; None until it is there.
        sampled: what a sample of it would say; None until it is there, and where none is asked.
        beside: what is worked out beside the Bayesian curves of a sample; None until it is there.
        tuned: ε of the best of `tried` runs on average; None until it is there, and inf where it has no bound: why is
            `untuned`.
    """

    steps: Array
    bounds: dict[str, Bound]
    accountants: Mapping[str, Accountant] = field(default_factory=dict)
    left: Mapping[str, str] = field(default_factory=dict)
    law: LawCost | None = None
    bayesian: Promise | None = None
    problem: tuple[Note, ...] = field(default=())
    tight: TightBand | None = None
    accuracy: Accuracy | None = None
    rank: TightBand | None = None
    sampled: SampledCost | None = None
    beside: Beside | None = None
    tuned: float | None = None
    untuned: str = ""
    laws = LAW.options

    @property
    def valid(self) -> frozenset[str]:
        """Keys of those that are bounds here, no approximations: their accountants know."""
        return frozenset(key for key, one in self.accountants.items() if one.kind is Kind.UPPER)

    def tightest(self) -> str | None:
        """The valid DP method with the smallest ε at the last step; None when none has one."""
        ends = {key: float(bound.epsilon[-1]) for key, bound in self.bounds.items() if key in self.valid}
        finite = {key: value for key, value in ends.items() if np.isfinite(value)}
        return min(finite, key=lambda key: finite[key]) if finite else None

    def chance(self, delta: float) -> guessing.Guess:
        """How often the best attack is right after all steps: of the tightest bound, else of the interval's end."""
        best, epsilon = self.tightest(), math.inf
        if best is not None:
            epsilon = float(self.bounds[best].epsilon[-1])
        elif self.tight is not None and not math.isnan(self.tight.upper[-1]):
            epsilon = float(self.tight.upper[-1])
        return guessing.guess(epsilon, delta, self.accuracy)

    @property
    def promise(self) -> float:
        """ε_μ of Bayesian DP after all steps; NaN for none."""
        if self.law is not None:
            return self.law.last
        return math.nan if self.bayesian is None else float(self.bayesian.main.epsilon[-1])

    def alone(self, epsilon: float, delta_mu: float) -> float:
        """Right guesses that one pair allows."""
        return float(attack_success(epsilon, delta=delta_mu))

    def reason(self, key: str) -> str:
        """Why a curve has no value, where it has none."""
        bound = self.bounds[key]
        return bound.reason or ("proves no finite ε here." if np.isinf(bound.epsilon).all() else "")

    def at_end(self, key: str) -> Bound | None:
        """A curve's bound where its last order decides at T."""
        bound = self.bounds[key]
        return bound if bool(bound.at_grid_end[-1]) else None

    def hardly(self, definition: str) -> bool:
        """Whether Bayesian DP of the known distribution is near what the same conversion says of DP."""
        alike = self.bounds.get((Renyi if definition == "2" else Moments)().family)
        return self.law is not None and alike is not None and self.law.last > 0.95 * float(alike.epsilon[-1])

    @property
    def law_floor(self) -> float | None:
        """What the known distribution's last order charges for nothing, where that is most of its ε_μ."""
        if self.law is None or not bool(self.law.bound.at_grid_end[-1]):
            return None
        floor = float(self.law.bound.floor[-1])
        return floor if floor > 0.5 * self.law.last else None

    @property
    def too_low(self) -> tuple[float, float, float, bool] | None:
        """Where the estimate is below the true cost: the first such step, both at T, and whether it is below there."""
        estimate = None if self.bayesian is None else self.bayesian.estimate
        if estimate is None or self.beside is None or self.beside.truth is None:
            return None
        at = estimate.epsilon[np.searchsorted(self.steps, self.beside.steps)]
        below = at < self.beside.truth.lower
        if not below.any():
            return None
        first = float(self.beside.steps[int(np.argmax(below))])
        return first, float(at[-1]), float(self.beside.truth.lower[-1]), bool(below[-1])


def growth(
    *,
    mechanism: Annotated[Mechanism, kinds.MECHANISM],
    steps: Annotated[int, STEPS],
    delta: Annotated[float, DELTA],
    curves: Annotated[tuple[str, ...], CURVES],
    amplification: Annotated[str, AMPLIFICATION],
    log_steps: Annotated[bool, LOG_X],
    log_epsilon: Annotated[bool, LOG_Y],
    quantile: Annotated[float, QUANTILE],
    clip: Annotated[str, CLIP],
    delta_mu: Annotated[float | None, DELTA_MU],
    failure: Annotated[float, FAILURE],
    order: Annotated[int | None, ORDER],
    definition: Annotated[str, DEFINITION],
    samples: Annotated[int | None, SAMPLES],
    reading: Annotated[str, READING],
    divergence: Annotated[str, PSI],
    gradients: Annotated[Gradients | None, GRADIENTS],
    tried: Annotated[int, TRIED],
    law: Annotated[str, LAW],
) -> Answer[ComposeFacts]:
    """All chosen curves that there are. A sample that cannot be had is told, not raised: the other curves stand."""
    grid = step_grid(steps, log_steps)
    left = left_out(CURVES.options, mechanism)
    delta_mu = delta if delta_mu is None else delta_mu
    drawn = [key for key in curves if key not in (BAYESIAN, Tight.name, *left)]
    accountants = {key: method(key, amplification, order or 0) for key in drawn}
    bounds = {key: one.epsilon_of(mechanism, steps=grid, delta=delta) for key, one in accountants.items()}
    facts = ComposeFacts(grid, bounds, accountants, left, accuracy=Accuracy(0.5, 1.0) if Tight.name in left else None)
    if BAYESIAN in curves and gradients is not None and isinstance(mechanism, SampledGaussian):
        try:
            if isinstance(gradients, Law):
                asked = asdict(mechanism) | {"delta_mu": delta_mu, "definition": int(definition), "reading": reading}
                asked["rough"] = coarse()
                some = tuple(law_steps(grid).tolist())
                facts = replace(facts, law=law_cost(gradients, quantile, some, order, **asked))
            else:
                options = {"delta_mu": delta_mu, "estimator_failure": failure, "orders": orders_of(order)}
                options |= {"reading": reading, "divergence": divergence}
                facts = replace(facts, bayesian=promised(gradients, grid, mechanism, quantile, clip, **options))
        except ValueError as problem:
            facts = replace(facts, problem=no_bayesian(problem))
    lines = [dp_line(facts, key, delta) for key in bounds]
    lines += [] if facts.law is None else [law_line(facts.law, delta_mu)]
    of_sample = facts.bayesian.curves if facts.bayesian else []
    lines += [bayesian_line(bound, grid, delta_mu, kept) for bound, kept in of_sample]
    plot = LinePlot(
        x=steps_axis(f"{mechanism.step}s", log=log_steps, marked=steps),
        y=epsilon_axis(log=log_epsilon),
        lines=tuple(lines),
        floors=() if order else tuple(floors(bounds)),
        more=tuple(fact for bound, _ in of_sample for fact in tail(printed_key(bound), bound)),
    )
    return Answer(plot, facts)


def dp_line(facts: ComposeFacts, key: str, delta: float) -> Line:
    """One accountant's curve; of a pinned state the tightest valid bound stays."""
    bound, valid = facts.bounds[key], key in facts.valid
    orders = () if np.isnan(bound.order).all() else (Column("α", bound.order, key="order"),)
    return Line(
        key,
        NAMES[key],
        facts.steps,
        bound.epsilon,
        key,
        approximate=not valid,
        hover=(guessing.allowed("right by ε alone:", bound.epsilon, delta), *orders),
        kept=key == facts.tightest(),
        label=NAMES[key] if valid else f"{NAMES[key]} (no bound)",
        explained=True,  # its accountant says why there is no value
    )


def law_line(law: LawCost, delta_mu: float) -> Line:
    """Bayesian DP of a known distribution: a bound."""
    return Line(
        BAYESIAN,
        "Bayesian DP of this distribution",
        law.steps,
        law.bound.upper,
        BAYESIAN,
        hover=bayesian_hover(law.bound.upper, law.bound.order, delta_mu),
        end=NAMES[BAYESIAN],
    )


def bayesian_hover(epsilon: Array, order: Array, delta_mu: float) -> tuple[Column, ...]:
    return guessing.allowed("right by ε_μ alone:", epsilon, delta_mu), Column("α", order, key="order")


def bayesian_line(bound: BayesianBound, steps: Array, delta_mu: float, kept: bool) -> Line:
    """A bound that holds is solid; the estimate, as the paper prints it, dashed, and dotted where its tail decides."""
    key = printed_key(bound)
    dominated = bound.tail_dominated & (not bound.certified)
    return Line(
        key,
        NAMES[key],
        steps,
        bound.epsilon,
        BAYESIAN,
        approximate=not bound.certified,
        dotted_from=float(steps[int(np.argmax(dominated))]) if dominated.any() else None,
        hover=bayesian_hover(bound.epsilon, bound.order, delta_mu),
        kept=kept,
        label=NAMES[BAYESIAN] if bound.certified else None,
    )


def floors(bounds: dict[str, Bound]) -> list[Floor]:
    """Where orders end; a floor is worth a line only where some curve lies on it."""
    return [
        Floor(float(bound.floor[-1]), f"{NAMES[key]}: orders end", key)
        for key, bound in bounds.items()
        if bool(bound.at_grid_end[-1]) and float(bound.floor[-1]) > 0.5 * float(bound.epsilon[-1])
    ]


def printed_key(bound: BayesianBound) -> str:
    return BAYESIAN if bound.certified else "bayesian_printed"

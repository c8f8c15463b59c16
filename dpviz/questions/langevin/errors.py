"""A bound on the error, up to an unknown constant C, against step size and against ε: how large is the error?"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.langevin.squared_error import mse_of_schedule, mse_proposition5
from dpviz.charts import Axis, Guide, Line, LinePlot, look
from dpviz.fields import number, numbers
from dpviz.questions import Answer, Metric, Note, Words, setting
from dpviz.questions.langevin import words
from dpviz.questions.langevin.chain import CLAIM, FIRST, Chain, SamplerPlan, proven, step_sizes
from dpviz.questions.langevin.facts import (
    EPSILON_POINTS,
    SamplerFacts,
    allowed_step_sizes,
    epsilon_grid,
)
from dpviz.questions.langevin.shared import controls, four_digits, langevin_question
from dpviz.questions.langevin.step_sizes import wang_region

VARIANCE = number("lgam")
LEAST = "times the least"
ERROR = Axis("mean squared error ÷ C, at most", column="mse", log=True, write=four_digits)


@dataclass(frozen=True, eq=False, kw_only=True)
class LangevinErrorFacts(SamplerFacts):
    """A sampler and its error; `gradient_variance` is Γ, of the gradients."""

    gradient_variance: float

    @property
    def best_step_size(self) -> float:
        """The η₁ with the least error bound."""
        return self.chain.best_step_size

    @property
    def least(self) -> float:
        """The least error bound."""
        return float(mse(self.chain, self.best_step_size, self.gradient_variance))

    def times(self, step_size: float) -> float:
        """The error bound at this η₁ ÷ the least one."""
        return float(mse(self.chain, step_size, self.gradient_variance)) / self.least

    @property
    def worse(self) -> float:
        """The error at the largest step size for the claim ÷ the least error."""
        return self.times(self.largest)


@dataclass(frozen=True, eq=False, kw_only=True)
class StepErrorFacts(LangevinErrorFacts):
    """The same of steps whose sizes are set."""

    chain: Chain


@dataclass(frozen=True, eq=False, kw_only=True)
class EpsilonErrorFacts(LangevinErrorFacts):
    """The same along ε; `best_epsilon` is the ε of the chart with the least error, NaN where no step size is proven."""

    best_epsilon: float

    @property
    def worse_by_wang(self) -> float:
        """The error at the step size of Wang et al. for the claim ÷ the least error."""
        return float(error_of_wang(self.chain, self.chain.wang_step_size, self.gradient_variance)) / self.least


def mse(chain: SamplerPlan, first: float | Array, variance: float) -> Array:
    """The bound on the mean squared error ÷ C for each first step size."""
    return error_bound(chain, first, variance, mse_of_schedule, exponent=chain.exponent)


def error_of_wang(chain: SamplerPlan, sizes: float | Array, variance: float) -> Array:
    """The bound for steps of Wang et al., whose sizes are fixed."""
    return error_bound(chain, sizes, variance, mse_of_schedule, exponent=0.0)


@np.errstate(all="ignore")
def error_bound(
    chain: SamplerPlan, sizes: float | Array, variance: float, bound: Callable[..., Any], **more: float
) -> Array:
    """`bound` on the mean squared error ÷ C of each size; NaN where there is none."""
    values = np.asarray(sizes, dtype=np.float64)
    errors, there = np.full(values.shape, np.nan), np.isfinite(values)
    if there.any():
        errors[there] = bound(
            values[there],
            steps=chain.steps,
            n=chain.n,
            batch_size=chain.batch_size,
            gradient_variance=variance,
            **more,
        )
    return errors


def against_step_size(chain: Chain, *, gradient_variance: Annotated[float, VARIANCE]) -> Answer[StepErrorFacts]:
    """The error bound around the best, the present and the largest private step size."""
    facts = StepErrorFacts(chain=chain, allowed=allowed_step_sizes(chain), gradient_variance=gradient_variance)
    places = {"least error": chain.best_step_size, "yours": chain.step_size}
    if facts.largest > 0.0:
        places[f"largest for ε = {chain.claim:g}"] = facts.largest
    x = np.geomspace(min(places.values()) / 5.0, max(places.values()) * 5.0, EPSILON_POINTS)
    plot = LinePlot(
        Axis("step size η₁", column="step_size", log=True, hover="step size η₁ = %{x:.4~g}"),
        ERROR,
        (Line("bound", "error bound", x, mse(chain, x, gradient_variance), look.SOLID, color=look.BLUE),),
        guides=tuple(
            Guide("x", at, name, noted=False, sets=FIRST if name == "yours" else None) for name, at in places.items()
        ),
    )
    return Answer(plot, facts)


def against_epsilon(chain: SamplerPlan, *, gradient_variance: Annotated[float, VARIANCE]) -> Answer[EpsilonErrorFacts]:
    """The error bound at the largest step size for each ε."""
    x = epsilon_grid(chain.claim)
    allowed = allowed_step_sizes(chain, x)
    private = proven(allowed.step_size[:-1])
    errors = mse(chain, private, gradient_variance)
    best = float(x[np.nanargmin(errors)]) if np.isfinite(errors).any() else math.nan
    facts = EpsilonErrorFacts(chain, allowed, gradient_variance=gradient_variance, best_epsilon=best)
    lines = [Line("composed", "largest private steps", x, errors, look.SOLID, color=look.BLUE)]
    if not chain.momentum:
        errors = error_of_wang(chain, step_sizes(chain, "wang", x), gradient_variance)
        lines.append(Line("wang", "Wang et al. 2015", x, errors, look.SOLID, color=look.ORANGE, kept=False))
    if speaks_of_proposition5(chain):
        # As printed: η̃₀ = ε²/(c₂² L² ln(1/δ)) is the largest step size without its N and T.
        printed = private * chain.steps ** (2 / 3) / chain.n
        errors, name = error_bound(chain, printed, gradient_variance, mse_proposition5), "Prop. 5 as printed"
        lines.append(Line("proposition5", name, x, errors, look.SOLID, approximate=True, color=look.GREY, kept=False))
    plot = LinePlot(
        Axis("ε", column="epsilon", log=True, hover="ε = %{x:.4~g}"),
        ERROR,
        tuple(lines),
        regions=wang_region(chain),
        guides=(Guide("x", chain.claim, f"claimed ε = {chain.claim:g}", noted=False, sets=CLAIM),),
    )
    return Answer(plot, facts)


def speaks_of_proposition5(chain: SamplerPlan) -> bool:
    """Whether the steps are those of Proposition 5 of Li et al.: decreasing, and without momentum."""
    return bool(chain.exponent) and not chain.momentum


def headline(f: StepErrorFacts) -> str:
    best = f"The error bound is smallest at η₁ = <b>{numbers.plain(f.best_step_size)}</b>"
    if not f.largest > 0:
        return f"{best}."
    worse = numbers.plain(f.worse)
    times = "just as small" if worse == "1" else f"<b>{worse}</b> times as large"
    return f"{best}; at the largest step size for the claimed ε, {numbers.at_least(f.largest)}, it is {times}."


def metrics(f: StepErrorFacts) -> Iterator[Metric]:
    yield Metric("Least error", f"η₁ = {numbers.plain(f.best_step_size)}", "whatever ε")
    yield Metric("Error at your η₁", times(f.times(f.chain.step_size)), LEAST)
    if f.largest > 0:
        claim = f"ε ≤ {numbers.entered(f.chain.claim)}"
        yield Metric("Largest private step", f"η₁ = {numbers.at_least(f.largest)}", claim)
        yield Metric("Error there", times(f.worse), LEAST)


def times(factor: float) -> str:
    return f"{numbers.plain(factor)} ×"


def notes(f: StepErrorFacts) -> Iterator[Note]:
    yield from words.notes(f.chain)
    yield from only_ratios(f)


def headline_against_epsilon(f: EpsilonErrorFacts) -> str:
    claim = f"<b>{setting(CLAIM, 'ε ≤', numbers.at_most(f.chain.claim))}</b>"
    if not f.largest > 0:
        return f"No step size is proven to give {claim}, so no error is known."
    worse = numbers.plain(f.worse)
    times = "" if worse == "1" else f"<b>{worse}</b> times "
    return f"At the largest step sizes for {claim}, the error bound is {times}the least."


def metrics_against_epsilon(f: EpsilonErrorFacts) -> Iterator[Metric]:
    chain = f.chain
    if f.largest > 0:
        yield Metric("Error at this ε", times(f.worse), f"η₁ = {numbers.at_least(f.largest)}; {LEAST}")
    if chain.wang_holds and not chain.momentum:
        size = numbers.at_least(chain.wang_step_size)
        yield Metric("By Wang et al. 2015", times(f.worse_by_wang), f"η = {size}; {LEAST}")
    yield Metric("Least error", f"η₁ = {numbers.plain(f.best_step_size)}", "whatever ε")
    if not math.isnan(f.best_epsilon):
        yield Metric("Best ε of the chart", numbers.plain(f.best_epsilon))


def notes_against_epsilon(f: EpsilonErrorFacts) -> Iterator[Note]:
    yield from words.notes(f.chain)
    if speaks_of_proposition5(f.chain):
        yield Note(
            "Proposition 5 as printed (dashed) does not follow from its source: the powers of T differ and N is "
            "missing. The other curves add up the step sizes themselves."
        )
    yield from only_ratios(f)
    yield from words.wang(f.chain)


def only_ratios(f: LangevinErrorFacts) -> Iterator[Note]:
    """What the errors may be compared with."""
    yield Note("Errors are bounds up to an unknown constant C: only their ratios are meaningful.")
    if f.chain.printed_noise:
        yield Note(
            "The error bounds are about a chain that samples the posterior, with noise of variance 2η/N; of noise η/N "
            "no bound is known."
        )


MSE = langevin_question(
    "mse",
    "Which step size has the least error?",
    against_step_size,
    Words(headline, metrics, notes, words.formulas, lambda f: words.assumptions(f.chain)),
    asks="best_step_size",
    layout=controls(VARIANCE),
)
MSE_EPSILON = langevin_question(
    "mse_epsilon",
    "What does a small ε cost in error?",
    against_epsilon,
    Words(
        headline_against_epsilon,
        metrics_against_epsilon,
        notes_against_epsilon,
        words.formulas,
        lambda f: words.assumptions(f.chain),
    ),
    asks="worse",
    layout=controls(VARIANCE, without=lambda _: (FIRST,)),
    sampler=SamplerPlan,
)

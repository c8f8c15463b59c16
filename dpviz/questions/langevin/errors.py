"""A bound on the error, up to an unknown constant C, against step size and against ε: how large is the error?"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.langevin.squared_error import mse_of_schedule, mse_proposition5
from dpviz.charts import Axis, Guide, Line, LinePlot, look
from dpviz.fields import number, numbers
from dpviz.questions import Answer, Note, Words
from dpviz.questions.langevin import words
from dpviz.questions.langevin.chain import Chain, proven, step_sizes
from dpviz.questions.langevin.facts import (
    EPSILON_POINTS,
    ChainFacts,
    allowed_step_sizes,
    composed,
    epsilon_grid,
    epsilon_with_other_noise,
)
from dpviz.questions.langevin.shared import controls, four_digits, langevin_question
from dpviz.questions.langevin.step_sizes import wang_region

VARIANCE = number("lgam")
ERROR = Axis("mean squared error ÷ C, at most", column="mse", log=True, write=four_digits)


@dataclass(frozen=True, eq=False, kw_only=True)
class LangevinErrorFacts(ChainFacts):
    """The steps and their error; `gradient_variance` is Γ, of the gradients."""

    gradient_variance: float

    @property
    def best_step_size(self) -> float:
        """The η₁ with the least error bound."""
        return self.chain.best_step_size

    @property
    def worse(self) -> float:
        """The error at the largest step size for the claim ÷ the least error."""
        largest, least = (mse(self.chain, size, self.gradient_variance) for size in (self.largest, self.best_step_size))
        return float(largest / least)


def mse(chain: Chain, first: float | Array, variance: float) -> Array:
    """The bound on the mean squared error ÷ C for each first step size."""
    return error_bound(chain, first, variance, mse_of_schedule, exponent=chain.exponent)


@np.errstate(all="ignore")
def error_bound(chain: Chain, sizes: float | Array, variance: float, bound: Callable[..., Any], **more: float) -> Array:
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


def against_step_size(chain: Chain, *, gradient_variance: Annotated[float, VARIANCE]) -> Answer[LangevinErrorFacts]:
    """The error bound around the best, the present and the largest private step size."""
    spent, allowed, other = composed(chain), allowed_step_sizes(chain), epsilon_with_other_noise(chain)
    facts = LangevinErrorFacts(chain, spent, allowed, other, gradient_variance=gradient_variance)
    places = {"least error": chain.best_step_size, "yours": chain.step_size}
    if facts.largest > 0.0:
        places[f"largest for ε = {chain.claim:g}"] = facts.largest
    x = np.geomspace(min(places.values()) / 5.0, max(places.values()) * 5.0, EPSILON_POINTS)
    plot = LinePlot(
        Axis("step size η₁", column="step_size", log=True, hover="step size η₁ = %{x:.4~g}"),
        ERROR,
        (Line("bound", "error bound", x, mse(chain, x, gradient_variance), look.SOLID, color=look.BLUE),),
        guides=tuple(Guide("x", at, name, noted=False) for name, at in places.items()),
    )
    return Answer(plot, facts)


def against_epsilon(chain: Chain, *, gradient_variance: Annotated[float, VARIANCE]) -> Answer[LangevinErrorFacts]:
    """The error bound at the largest step size for each ε."""
    x = epsilon_grid(chain.claim)
    spent, allowed, other = composed(chain), allowed_step_sizes(chain, x), epsilon_with_other_noise(chain)
    facts = LangevinErrorFacts(chain, spent, allowed, other, gradient_variance=gradient_variance)
    private = proven(facts.allowed.step_size[:-1])
    errors = mse(chain, private, gradient_variance)
    lines = [Line("composed", "largest private steps", x, errors, look.SOLID, color=look.BLUE)]
    if not chain.momentum:
        errors = mse(chain, step_sizes(chain, "wang", x), gradient_variance)
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
        guides=(Guide("x", chain.claim, f"claimed ε = {chain.claim:g}", noted=False),),
    )
    return Answer(plot, facts)


def speaks_of_proposition5(chain: Chain) -> bool:
    """Whether the steps are those of Proposition 5 of Li et al.: decreasing, and without momentum."""
    return bool(chain.exponent) and not chain.momentum


def headline(f: LangevinErrorFacts) -> str:
    best = f"The error bound is smallest at η₁ = <b>{numbers.plain(f.best_step_size)}</b>"
    if not f.largest > 0:
        return f"{best}."
    return (
        f"{best}; at the largest step size for the claimed ε, {numbers.at_least(f.largest)}, it is "
        f"<b>{numbers.plain(f.worse)}</b> times as large."
    )


def notes(f: LangevinErrorFacts) -> Iterator[Note]:
    yield from words.notes(f)
    yield from only_ratios(f)


def notes_against_epsilon(f: LangevinErrorFacts) -> Iterator[Note]:
    yield from words.notes(f)
    if speaks_of_proposition5(f.chain):
        yield Note(
            "Proposition 5 as printed (dashed) does not follow from its source: the powers of T differ and N is "
            "missing. The other curves add up the step sizes themselves."
        )
    yield from only_ratios(f)
    yield from words.wang(f)


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
    "Error against step size",
    against_step_size,
    Words(headline, words.metrics, notes, words.formulas, words.assumptions),
    asks="best_step_size",
    layout=controls(VARIANCE),
)
MSE_EPSILON = langevin_question(
    "mse_epsilon",
    "Error against ε",
    against_epsilon,
    Words(headline, words.metrics, notes_against_epsilon, words.formulas, words.assumptions),
    asks="best_step_size",
    layout=controls(VARIANCE),
)

"""The sampler's error against step size and against ε."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz.accounting.langevin.mse import best_step_size, mse_of_schedule, mse_proposition5
from dpviz.charts import look
from dpviz.charts.marks import Array, Guide, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.fields.declared import number
from dpviz.questions.answer import Answer, Note
from dpviz.questions.langevin.chain import EPSILON_POINTS, Chain, ChainFacts, epsilon_grid, known, proven, step_sizes
from dpviz.questions.langevin.words import EPSILON_AXIS, about, four_digits, log_axis, wang_note, wang_region

VARIANCE = number("lgam")
COMPARE = Note("Errors are bounds up to an unknown constant C: compare them, do not read them.")
PROPOSITION_5 = Note(
    "Proposition 5 as printed does not follow from its source (other powers of T, no N): it is drawn dashed; the other "
    "curves sum the step sizes themselves."
)
ERROR_AXIS = Axis("mean squared error ÷ C, at most", column="mse", log=True, write=four_digits)


@np.errstate(all="ignore")
def bounded(chain: Chain, sizes: npt.ArrayLike, variance: float, bound: Callable[..., Any], **more: float) -> Array:
    """`bound` ÷ C of each size; NaN where there is none."""
    values = np.asarray(sizes, dtype=np.float64)
    found, there = np.full(values.shape, np.nan), np.isfinite(values)
    if there.any():
        found[there] = bound(
            values[there], steps=chain.steps, n=chain.n, batch_size=chain.batch_size, gradient_variance=variance, **more
        )
    return found


def error(chain: Chain, step_size: npt.ArrayLike, variance: float) -> Array:
    """The bound on the mean squared error ÷ C for each first step size; NaN where there is none."""
    return bounded(chain, step_size, variance, mse_of_schedule, exponent=chain.exponent)


def proposition5(chain: Chain, step_size: Array, variance: float) -> Array:
    """Proposition 5 as printed: η̃₀ = ε²/(c₂² L² ln(1/δ)) is the largest step size without its N and T."""
    return bounded(chain, step_size * chain.steps ** (2 / 3) / chain.n, variance, mse_proposition5)


def least(chain: Chain) -> float:
    """The first step size with the least error bound."""
    return best_step_size(exponent=chain.exponent, steps=chain.steps)


def against_step_size(*, gradient_variance: float, **setting: Any) -> Answer[ChainFacts]:
    """The error bound around the best, the present and the largest private step size; keywords as in `Chain`, and Γ."""
    chain = Chain(**setting)
    facts, best = known(chain), least(chain)
    places = {"least error": best, "yours": chain.step_size}
    if facts.largest > 0.0:
        places[f"largest for ε = {chain.claim:g}"] = facts.largest
    x = np.geomspace(min(places.values()) / 5.0, max(places.values()) * 5.0, EPSILON_POINTS)
    bound = error(chain, x, gradient_variance)
    plot = LinePlot(
        x=log_axis("step size η₁", "step_size"),
        y=ERROR_AXIS,
        lines=(Line("bound", "error bound", x, bound, "moments", color=look.BLUE),),
        guides=tuple(Guide("x", at, name, told=False) for name, at in places.items()),
    )
    return Answer(plot, facts)


def error_of_epsilon(*, gradient_variance: float, **setting: Any) -> Answer[ChainFacts]:
    """The error bound at the largest step size for each ε; keywords as in `Chain`, and Γ."""
    chain = Chain(**setting)
    x = epsilon_grid(chain.claim)
    facts = known(chain, epsilon=x)
    sizes = proven(facts.allowed.step_size[:-1])
    bound = error(chain, sizes, gradient_variance)
    lines = [Line("composed", "largest private steps", x, bound, "moments", color=look.BLUE)]
    if not chain.momentum:
        wang = error(chain, step_sizes(chain, "wang", x), gradient_variance)
        lines.append(Line("wang", "Wang et al. 2015", x, wang, "moments", color=look.ORANGE, kept=False))
    if prints(chain):
        y, name = proposition5(chain, sizes, gradient_variance), "Prop. 5 as printed"
        lines.append(Line("proposition5", name, x, y, "moments", color=look.GREY, approximate=True, kept=False))
    plot = LinePlot(
        x=EPSILON_AXIS,
        y=ERROR_AXIS,
        lines=tuple(lines),
        regions=wang_region(chain),
        guides=(Guide("x", chain.claim, f"claimed ε = {chain.claim:g}", told=False),),
    )
    return Answer(plot, facts)


def prints(chain: Chain) -> bool:
    """Whether Proposition 5 speaks of these steps."""
    return bool(chain.exponent) and not chain.momentum


def adds(a: Answer[ChainFacts]) -> str:
    """Where the error is least, and what privacy makes of it."""
    f, chain = a.facts, a.facts.chain
    best, variance = least(chain), a.given["gradient_variance"]
    told = f" The error bound is least at η₁ = <b>{numbers.plain(best)}</b>"
    if f.largest <= 0.0:
        return f"{told}."
    ratio = float(error(chain, f.largest, variance) / error(chain, best, variance))
    largest, times = numbers.plain(numbers.down(f.largest)), numbers.plain(ratio)
    return f"{told}; at the largest step size for the claim, {largest}, it is <b>{times}</b> times as large."


def notes_of_epsilon(a: Answer[ChainFacts]) -> list[Note]:
    chain = a.facts.chain
    return [*([PROPOSITION_5] if prints(chain) else []), COMPARE, wang_note(chain)]


def compare(_: Answer[ChainFacts]) -> list[Note]:
    return [COMPARE]


MSE = about("mse", "Error against step size", against_step_size, adds, compare, gradient_variance=VARIANCE)
MSE_EPSILON = about(
    "mse_epsilon", "Error against ε", error_of_epsilon, adds, notes_of_epsilon, gradient_variance=VARIANCE
)

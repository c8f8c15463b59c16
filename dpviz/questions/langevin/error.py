"""What the questions about the sampler's error share: the bound for a step size, and the words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpviz.accounting.langevin.mse import best_step_size, mse_of_schedule
from dpviz.charts import numbers
from dpviz.charts.plot import Axis
from dpviz.questions.answer import Answer, Note
from dpviz.questions.fields import Number, log_ticks
from dpviz.questions.langevin import words
from dpviz.questions.langevin.chain import Array, Chain, ChainFacts
from dpviz.questions.langevin.words import four_digits

VARIANCE = Number(
    key="lgam",
    symbol="Γ",
    label="Gradient variance Γ",
    default=0.0,
    low=1e-100,
    or_zero=True,
    high=1e6,
    ticks=(0.0, *log_ticks(1e-14, 1.0, 2)),
    ends=("as if none", "diverse data"),
    example="0 or 1e-9",
    help="Γ of the error bounds, unknown in practice: its term does not depend on a fixed step size.",
)

COMPARE = Note("Errors are bounds up to an unknown constant C: compare them, do not read them.")


@np.errstate(all="ignore")
def error(chain: Chain, step_size: npt.ArrayLike, variance: float) -> Array:
    """The bound on the mean squared error ÷ C for each first step size; NaN where there is none."""
    sizes = np.asarray(step_size, dtype=np.float64)
    found = np.full(sizes.shape, np.nan)
    there = np.isfinite(sizes)
    if there.any():
        found[there] = mse_of_schedule(
            sizes[there],
            exponent=chain.exponent,
            steps=chain.steps,
            n=chain.n,
            batch_size=chain.batch_size,
            gradient_variance=variance,
        )
    return found


def error_axis() -> Axis:
    return Axis("mean squared error ÷ C, at most", column="mse", log=True, write=four_digits)


def least(chain: Chain) -> float:
    """The first step size with the least error bound."""
    return best_step_size(exponent=chain.exponent, steps=chain.steps)


def headline(a: Answer[ChainFacts]) -> str:
    f, chain = a.facts, a.facts.chain
    best, variance = least(chain), a.given["gradient_variance"]
    said = f"{words.headline(a)} The error bound is least at η₁ = <b>{numbers.plain(best)}</b>"
    if f.largest <= 0.0:
        return f"{said}."
    ratio = float(error(chain, f.largest, variance) / error(chain, best, variance))
    return (
        f"{said}; at the largest step size for the claim, {numbers.plain(numbers.down(f.largest))}, it is "
        f"<b>{numbers.plain(ratio)}</b> times as large."
    )

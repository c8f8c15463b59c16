"""Distances drawn directly from a family of distributions, and what is known exactly about each.

The Bayesian cost of unclipped distances is ln E exp(Tψ(d))/T with Tψ ~ r·d² for large d, r = Tλ(λ+1)/(2σ²). Where
the tail of d is heavier than Gaussian that expectation is infinite, whatever an estimate from a sample says.
"""

from typing import Any

import numpy as np

from dpviz import _validate
from dpviz.gradients.sample import GradientSample
from dpviz.gradients.weibull_vectors import seed_name, weibull_shape

FAMILIES = ("weibull", "lognormal", "halfnormal")
MOST = 20_000_000


def draw_norms(
    family: str, *, count: int, seed: int | np.random.Generator, shape: float = 1.0, scale: float = 1.0
) -> GradientSample:
    """Independent norms d of a family, used as distances.

    Args:
        family: "weibull" (P(d > x) = exp(−(x/scale)^shape)), "lognormal" (ln d ~ N(ln scale, shape²)) or
            "halfnormal" (|N(0, scale²)|; shape is not used).
        count: how many, 2 to 2·10⁷.
        seed: a whole number or a numpy Generator.
        shape, scale: parameters of the family, > 0.
    """
    form, size = _parameters(family, shape, scale)
    number = _validate.whole(2, count=count)
    if number > MOST:
        raise ValueError(f"Expected count={number:,} <= {MOST:,}.")
    rng = np.random.default_rng(seed)
    if family == "weibull":
        drawn, name = size * rng.weibull(form, number), f"Weibull(shape {form:g}, scale {size:g})"
    elif family == "lognormal":
        drawn, name = size * rng.lognormal(0.0, form, number), f"log-normal(σ {form:g}, median {size:g})"
    else:
        drawn, name = size * np.abs(rng.standard_normal(number)), f"half-normal(scale {size:g})"
    return GradientSample(drawn, f"{number:,} independent {name} norms, seed {seed_name(seed)}.")


def tail_is_infinite(
    family: str,
    *,
    clipped: bool,
    noise_std: float,
    sample_rate: float,
    total_steps: int,
    order: int,
    shape: float = 1.0,
    scale: float = 1.0,
) -> bool:
    """Whether the true cost E exp(Tψ(λ, d)) is infinite, so that every finite estimate is only a sample's.

    Holds for sums of squares of such coordinates, too: one large coordinate makes a large norm.
    Never for clipped distances. Unclipped: always for Weibull of shape < 2 and log-normal, never for Weibull of
    shape > 2; at shape 2 and half-normal when r = Tλ(λ+1)/(2σ²) reaches 1/scale² and 1/(2 scale²).
    """
    form, size = _parameters(family, shape, scale)
    std, rate = _validate.numbers(noise_std=noise_std, sample_rate=sample_rate)
    steps = float(_validate.whole(1, total_steps=total_steps))
    (whole,) = _validate.whole_orders([order], "order")
    if clipped or rate == 0.0:
        return False
    growth = steps * whole * (whole + 1.0) / (2.0 * std**2) * size**2
    if family == "halfnormal":
        return bool(growth >= 0.5)
    if family == "lognormal" or form < 2.0:
        return True
    return bool(form == 2.0 and growth >= 1.0)


def law(family: str, shape: float, scale: float) -> Any:
    """The family's distribution, frozen, as scipy has it; arguments as for `draw_norms`."""
    from scipy import stats  # a quarter of a second, which `import dpviz` need not take

    form, size = _parameters(family, shape, scale)
    if family == "weibull":
        return stats.weibull_min(form, scale=size)
    if family == "lognormal":
        return stats.lognorm(form, scale=size)
    return stats.halfnorm(scale=size)


def _parameters(family: str, shape: float, scale: float) -> tuple[float, float]:
    _validate.choice("family", family, FAMILIES)
    size = _validate.number(scale=scale)
    if family == "weibull":
        return weibull_shape(shape), size
    form = _validate.number(shape=shape)
    if family == "lognormal" and form > 20.0:
        raise ValueError(
            f"Expected shape={form:.12g} <= 20 for log-normal norms: larger values exceed the range of "
            "floating-point numbers."
        )
    return form, size

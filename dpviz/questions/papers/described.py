"""From how a training is described to what bounds its ε from above and below."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpviz import library as dpviz
from dpviz.accounting.renyi.conversion import epsilon_per_order
from dpviz.accounting.renyi.orders import DEFAULT_ORDERS
from dpviz.mechanisms import Mechanism, ReplaceOneGaussian, SampledGaussian

Steps = tuple[Mechanism, int]


@dataclass(frozen=True)
class Described:
    """What is known of a description.

    Attributes:
        above: equal steps behind the upper bound.
        below: equal steps whose ε some such training reaches on some data; None where nothing is known.
        doubled: whether `above` bounds one step's profile alone, so that its Rényi moments are taken twice.
        why: the reason, with its source.
    """

    above: Steps
    below: Steps | None
    doubled: bool
    why: str


def steps_of(size: int, batch: int, epochs: float) -> int:
    """Steps taken, rounded up: fewer would be reported as less loss."""
    return max(1, math.ceil(epochs * size / batch * (1.0 - 1e-12)))


def described(*, size: int, batch: int, epochs: float, sigma: float, sampler: str, replace: bool) -> Described:
    """What bounds a training with this sampler; "unsaid" is read as Poisson sampling.

    Poisson sampling: its own mechanism, above and below. Shuffled: whatever the order, an example is in one batch an
    epoch, and each epoch is one Gaussian release at distance C, or 2C where it is replaced. A fixed size drawn anew:
    batches that differ in one record lie up to 2C apart, and sampling amplifies each δ(ε), ε ≥ 0, as it does for the
    Gaussian of σ/2 (Balle, Barthe, Gaboardi 2018, on subsampling without replacement); below, all other gradients are
    zero, and what is seen is Poisson sampling with q = batch/N.
    """
    count, rate = steps_of(size, batch, epochs), batch / size
    exact: Steps = ((ReplaceOneGaussian if replace else SampledGaussian)(sigma, rate), count)
    if sampler == "shuffled":
        apart = 0.5 * sigma if replace else sigma
        once = "each example is used once an epoch, in whichever batch: no gain from sampling is counted"
        return Described((SampledGaussian(apart, 1.0), math.ceil(epochs)), None, doubled=False, why=once)
    if sampler == "fixed":
        above = SampledGaussian(0.5 * sigma, rate), count
        source = "subsampling without replacement (Balle, Barthe, Gaboardi 2018), two batches up to 2C apart"
        return Described(above, exact, doubled=True, why=source)
    return Described(exact, exact, doubled=False, why="Poisson sampling")


def renyi_above(known: Described, delta: float) -> float:
    """The upper bound on ε by Rényi divergences.

    Where `doubled`: with h(γ) the sampled pair's δ at ln γ ≥ 0 in its worse direction, both directions of a step stay
    below h. So E(P/Q)^α ≤ 1 + α(α − 1)∫₁^∞ (γ^(α−2) + γ^(−1−α)) h(γ) dγ (Sason & Verdú 2016, on E_γ), which is at most
    1 + 2(A_α − 1) with the pair's own A_α, for γ^(−1−α) ≤ γ^(α−2).
    """
    mechanism, count = known.above
    plain = float(dpviz.epsilon("renyi", mechanism=mechanism, steps=count, delta=delta))
    if not known.doubled:
        return plain
    assert isinstance(mechanism, SampledGaussian)
    orders = np.array(DEFAULT_ORDERS)
    moments = (orders - 1.0) * np.asarray(
        dpviz.renyi_divergence(
            noise_multiplier=mechanism.noise_multiplier, sample_rate=mechanism.sample_rate, orders=orders
        )
    )
    small = np.minimum(moments, 1.0)
    twice = np.where(moments < 1.0, np.log1p(2.0 * np.expm1(small)), moments + math.log(2.0))
    each = epsilon_per_order(count * twice / (orders - 1.0), orders, np.asarray(delta), "improved")
    return max(plain, 0.0, float(np.nanmin(each)))

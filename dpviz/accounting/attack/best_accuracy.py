"""The accuracy of the best attack on composed steps of a mechanism: how often a guess of membership can be right.

    >>> found = best_accuracy(noise_multiplier=4.0, sample_rate=0.01, steps=10_000)
    >>> [f"{bound:.4f}" for bound in found]
    ['0.5505', '0.5505']

It comes from the whole privacy curve, of which one pair (ε, δ) shows a corner: at ε = 0.9465, δ = 1e-5, the tight pair
of this mechanism, `attack_success` says 0.7207. With P the distribution of the outputs with the example, Q without it,
and prior π, the best attack says the likelier side at each output and is right with probability

    ∫ max(π dP, (1 − π) dQ) = max(π, 1 − π) + min(π, 1 − π)·H   (Neyman & Pearson 1933),

where H is the hockey-stick divergence at ε₀ = |ln((1 − π)/π)|: of P from Q where π ≤ ½, of Q from P where π > ½. δ(ε₀)
is the larger of the two (Balle, Barthe, Gaboardi 2018, Theorem 1); at π = ½ both are δ(0), and the best attack is right
with probability (1 + δ(0))/2.
"""

import math
from dataclasses import replace
from typing import NamedTuple, Unpack

import numpy as np

from dpviz import _validate
from dpviz._other_names import says_right_names
from dpviz.accounting.methods import AnyStep, one_mechanism
from dpviz.accounting.pld.bounds import tight_delta
from dpviz.accounting.pld.grid import (
    ADD,
    REMOVE,
    added_rows,
    delta_bounds,
    in_turn,
    removed_rows,
    too_large,
    without_grid,
)
from dpviz.accounting.pld.loss_transform import compose
from dpviz.accounting.pld.plan import Aim, aim_at_epsilon, aim_for_rows, tail_for
from dpviz.accounting.pld.privacy_loss import discretise, pair_of
from dpviz.accounting.pld.read_off import delta_at
from dpviz.mechanisms import Laplace, Mechanism, PersonRows, ReplaceOneGaussian, SampledGaussian, one_row_of
from dpviz.mechanisms.pair import LEAST_SCALE

RESOLVED = 1e-12  # smaller differences of the accuracy than this are of no use to anybody
MOST_NOISE = 1e12  # beyond, nothing is computed
GOOD_ENOUGH = 1e-4  # a narrower accuracy needs no second look
ENOUGH = 1e-3  # of the accuracy; narrower, it is not worth the inverse of ε(δ), which takes up to half a minute
FINER = (1.0, 0.25, 0.0625)  # intervals of the grids of a second look, in units of the one that ε at DELTA needs
DELTA = 1e-5
ROUNDING = 1e-14  # of sums of probabilities near 1 and of ε₀, many times over


class Accuracy(NamedTuple):
    """Bounds on the accuracy of the best attack.

    Attributes:
        lower: some attack is right at least so often (it knows everything but whether the example took part).
        upper: no attack is right more often.
    """

    lower: float
    upper: float


@says_right_names("noise_multiplier", "sample_rate", "mechanism")
def best_accuracy(*, steps: int, prior: float = 0.5, **step: Unpack[AnyStep]) -> Accuracy:
    """Lower and upper bound on how often the best guess whether one example took part is right.

    Where one example is replaced, of the guess which of the two it was.

    They pinch the truth to 1e-4 and better in common settings. Where the tight accountant has no grid (σ below 1e-3,
    single losses beyond 20,000, T far above 10⁹) they are wide, down to what one step shows and up to what is shown if
    every step that the example joins gives it away.

    Args:
        steps: T, whole, ≥ 0.
        prior: π in (0, 1), the probability with which the example takes part.
        **step: noise_multiplier, σ > 0, and sample_rate, q in [0, 1]; or in their place mechanism: Laplace(scale=…),
            ReplaceOneGaussian(noise_multiplier=…), …
    """
    mechanism = one_mechanism(**step)
    count = float(mechanism.counted(_validate.whole(0, steps=steps)))
    p = _validate.number(prior=prior)
    sure, rest = max(p, 1.0 - p), min(p, 1.0 - p)
    if count == 0.0 or not mechanism.releases:
        return Accuracy(sure, sure)
    epsilon = 0.0 if p == 0.5 else math.log(sure) - math.log(rest)
    least, most = _divergence(_resolved(mechanism), count, epsilon, member_likelier=p > 0.5)
    if mechanism.least != mechanism:  # one direction is enough, and less needs no proof
        least = _shown(mechanism.least, count, epsilon)[0] if p <= 0.5 else 0.0
    scale = pair_of(one_row_of(mechanism)[0]).scale
    if scale < LEAST_SCALE:
        most = 1.0
    if scale > MOST_NOISE:
        least = 0.0
    # Total variation, H at 0, is at most 1 − (1 − TV)^T (`total_variation`), and no H exceeds it: where a grid shows
    # little, this says more.
    apart = mechanism.total_variation
    most = min(most, -math.expm1(count * math.log1p(-apart)) * (1.0 + 1e-9) if apart < 1.0 else 1.0)
    lower = max((sure + rest * least) * (1.0 - ROUNDING), sure)
    return Accuracy(lower, min(max((sure + rest * most) * (1.0 + ROUNDING), lower), 1.0))


def _resolved(mechanism: Mechanism) -> Mechanism:
    """More noise shows no more: beyond what is resolved, the nearest noise that is bounds one side."""
    if isinstance(mechanism, SampledGaussian | ReplaceOneGaussian | PersonRows):
        return replace(mechanism, noise_multiplier=min(max(mechanism.noise_multiplier, LEAST_SCALE), MOST_NOISE))
    if isinstance(mechanism, Laplace):
        return replace(mechanism, scale=min(max(mechanism.scale, LEAST_SCALE), MOST_NOISE))
    return mechanism


def _divergence(mechanism: Mechanism, count: float, epsilon: float, *, member_likelier: bool) -> tuple[float, float]:
    """Lower and upper H at ε₀, of the outputs with the example from those without; the other way where it is likelier.

    `_shown` bounds both directions from above, but from below only the first: the second has grids of its own.
    """
    least, most = _shown(mechanism, count, epsilon)
    if epsilon > 0.0:
        most = min(most, _shown(mechanism, count, 0.0)[1])
    if not member_likelier or in_turn(mechanism) or pair_of(mechanism).symmetric:  # both directions are one
        return least, most
    if too_large(mechanism):
        return 0.0, most
    counts, here = np.array([count]), np.array([epsilon])
    aim = aim_at_epsilon([mechanism], counts, ADD, epsilon, RESOLVED)
    plds = discretise(mechanism, aim.interval, tail_for(count, RESOLVED))
    below, above = (
        compose([pld], counts[None], aim.tilt, aim.log_wrap, near=epsilon)[0]
        for pld in (plds.add_below, plds.add_above)
    )
    return float(delta_at(below, here, -1.0)[0]), min(most, float(delta_at(above, here, 1.0)[0]))


def _shown(mechanism: Mechanism, count: float, epsilon: float) -> tuple[float, float]:
    """Lower and upper δ at ε, read off one grid; off finer ones without a tilt where that shows little, for a tilted
    window may be too wide; and where these do, what the inverse of ε(δ) says as well.
    """
    least, most = 0.0, 1.0
    if not without_grid(mechanism, count):
        counts, here, tail = np.array([[count]]), np.array([epsilon]), tail_for(count, DELTA)
        (below,), (above,) = delta_bounds([mechanism], counts[0], epsilon, here)
        least, most = max(least, float(below)), min(most, float(above))
        aim = aim_for_rows([mechanism], counts, REMOVE, DELTA)
        for finer in FINER:
            if most - least <= GOOD_ENOUGH:
                break
            plain = Aim(finer * aim.interval, 0.0, aim.log_wrap)
            ((removed, beneath),) = removed_rows([mechanism], counts, plain, tail, epsilon)
            sides = [removed]
            if epsilon > 0.0 and not pair_of(mechanism).symmetric:  # else adding shows the same
                sides += added_rows([mechanism], counts, plain, tail, epsilon)
            most = min(most, max(float(delta_at(side, here, 1.0)[0]) for side in sides))
            least = max(least, float(delta_at(beneath, here, -1.0)[0]))
    if most - least > ENOUGH * (1.0 + least):
        interval = tight_delta(mechanism, count, epsilon)
        least, most = max(least, float(interval.lower)), min(most, float(interval.upper))
    return least, most

"""Bounds on membership attacks: accuracy, belief and ROC curve, from (ε, δ) or from a mechanism's privacy profile."""

from typing import overload

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike


@overload
def attack_success(epsilon: float, *, delta: float = 0.0, prior: float = 0.5) -> float: ...
@overload
def attack_success(epsilon: ArrayLike, *, delta: ArrayLike = 0.0, prior: ArrayLike = 0.5) -> float | Array: ...
def attack_success(epsilon: ArrayLike, *, delta: ArrayLike = 0.0, prior: ArrayLike = 0.5) -> float | Array:
    """The highest accuracy of a guess of membership, over all attacks, that (ε, δ) alone allows.

    δ + (1 − δ)·max(e^ε/(1 + e^ε), π, 1 − π): the largest π·TPR + (1 − π)(1 − FPR) over the region of `roc_bound`
    (Kairouz, Oh, Viswanath 2015, Theorem 2.1), which lies at one of its three corners. So it is never below
    max(π, 1 − π), what the likelier answer gets right unseen. With an even prior it is (e^ε + δ)/(1 + e^ε), and at
    δ = 0 equation 1 of Triastcyn & Faltings 2020, 1/(1 + e^−ε). What an attacker may come to *believe* is another
    quantity (`posterior_belief`), and a mechanism whose whole privacy curve is known allows less (`best_accuracy`).

    Args:
        epsilon: ε ≥ 0 (inf allowed), number or array.
        delta: δ in [0, 1].
        prior: π in (0, 1), the probability of being a member before anything is seen.

    Returns:
        A float for numbers, an array for arrays (all three broadcast).
    """
    e = _validate.epsilon_or_infinite(epsilon)
    d = _validate.probability("delta", delta)
    p = _validate.open_probability("prior", prior)
    success = np.asarray(d + (1.0 - d) * np.maximum(expit(e), np.maximum(p, 1.0 - p)))
    return float(success) if success.ndim == 0 else success


@overload
def posterior_belief(epsilon: float, *, prior: float = 0.5, delta: float = 0.0, failure: float = 0.0) -> float: ...
@overload
def posterior_belief(
    epsilon: ArrayLike, *, prior: ArrayLike = 0.5, delta: ArrayLike = 0.0, failure: ArrayLike = 0.0
) -> float | Array: ...
def posterior_belief(
    epsilon: ArrayLike, *, prior: ArrayLike = 0.5, delta: ArrayLike = 0.0, failure: ArrayLike = 0.0
) -> float | Array:
    """The highest belief in "member" that an attacker with prior π may come to, but with probability `failure`.

    πe^ε/(1 − π + πe^ε) at δ = 0, where no output gives more. With δ > 0 an output may prove membership, so without a
    failure allowed the answer is 1. Else ε′ = ε − ln(1 − δ/failure) takes the place of ε: let S be the outputs that are
    more than e^ε′ times likelier with the example (P) than without (Q). P(S) ≤ e^ε Q(S) + δ ≤ e^(ε − ε′) P(S) + δ, so
    P(S) ≤ δ/(1 − e^(ε − ε′)) = failure, and Q(S) ≤ P(S): the example in or out, outputs that lead to a larger belief
    have at most that probability (after Kasiviswanathan & Smith 2014, who take ε′ = 2ε).

    Args:
        epsilon: ε ≥ 0 (inf allowed), number or array.
        prior: π in (0, 1), the belief before.
        delta: δ in [0, 1].
        failure: in [0, 1], over the mechanism's randomness; at or below δ > 0 it buys nothing.

    Returns:
        A float for numbers, an array for arrays (all four broadcast).
    """
    e = _validate.epsilon_or_infinite(epsilon)
    p = _validate.open_probability("prior", prior)
    d, f = _validate.probability("delta", delta), _validate.probability("failure", failure)
    share = np.where(d > 0.0, np.minimum(d / np.maximum(f, 1e-300), 1.0), 0.0)
    with np.errstate(divide="ignore"):
        belief = np.asarray(expit(e - np.log1p(-share) + logit(p)))
    return float(belief) if belief.ndim == 0 else belief


@overload
def sure_success(epsilon: float, *, hit_rate: float, delta: float = 0.0) -> float: ...
@overload
def sure_success(epsilon: ArrayLike, *, hit_rate: ArrayLike, delta: ArrayLike = 0.0) -> float | Array: ...
def sure_success(epsilon: ArrayLike, *, hit_rate: ArrayLike, delta: ArrayLike = 0.0) -> float | Array:
    """The highest share of true claims among claims of membership that members draw with probability `hit_rate`.

    r/(r + (r − δ)e^−ε) at even odds: the attacker speaks up only when an event is seen that has probability r with the
    example in and at least (r − δ)e^−ε without it. At δ = 0 this is the argument of Triastcyn & Faltings 2020, §3, that
    leads to their equation 1.

    Args:
        epsilon: ε ≥ 0 (inf allowed), number or array.
        hit_rate: r in [0, 1], the true positive rate of the claim.
        delta: δ in [0, 1].
    """
    e = _validate.epsilon_or_infinite(epsilon)
    r, d = _validate.probability("hit_rate", hit_rate), _validate.probability("delta", delta)
    # Divided by r first: the share of false claims must not underflow with it.
    false = np.exp(-e) * np.where(d > 0.0, np.maximum(1.0 - d / np.maximum(r, 1e-300), 0.0), 1.0)
    success = np.asarray(1.0 / (1.0 + false))
    return float(success) if success.ndim == 0 else success


def roc_bound(false_positive_rate: ArrayLike, *, epsilon: ArrayLike, delta: ArrayLike = 0.0) -> Array:
    """The highest true positive rate of any attack: min(e^ε FPR + δ, 1 − e^−ε(1 − δ − FPR)), within [0, 1].

    Kairouz, Oh, Viswanath 2015, Theorem 2.1. Arguments broadcast.
    """
    fpr = _validate.probability("false_positive_rate", false_positive_rate)
    e, d = _validate.epsilon(epsilon), _validate.probability("delta", delta)
    with np.errstate(divide="ignore"):
        rising = np.exp(np.minimum(e + np.log(fpr), 0.0)) + d  # in logs: e^ε overflows, FPR may be as small
    return np.asarray(np.clip(np.minimum(rising, 1.0 - np.exp(-e) * (1.0 - d - fpr)), 0.0, 1.0))


def gaussian_roc(false_positive_rate: ArrayLike, *, noise_multiplier: ArrayLike, steps: ArrayLike = 1) -> Array:
    """The exact ROC curve of the Gaussian mechanism without sampling: TPR = Φ(Φ⁻¹(FPR) + √T/σ).

    T releases with fresh noise are one release with σ/√T (Dong, Roth, Su 2022, §2.2 and Corollary 3.3). No test of
    "was this example in" does better, and the likelihood ratio test does this well. Arguments broadcast.

    Args:
        false_positive_rate: in [0, 1].
        noise_multiplier: σ > 0, noise standard deviation ÷ sensitivity.
        steps: T, whole, ≥ 0.
    """
    fpr = _validate.probability("false_positive_rate", false_positive_rate)
    sigma, count = _validate.noise_multiplier(noise_multiplier), _validate.steps(steps)
    return np.asarray(ndtr(ndtri(fpr) + np.sqrt(count) / sigma))


def profile_roc(false_positive_rate: ArrayLike, *, epsilon: ArrayLike, delta: ArrayLike) -> Array:
    """The highest TPR that a whole privacy curve δ(ε) allows: at each FPR the smallest `roc_bound` of all its pairs.

    With upper bounds on δ it is an upper bound on every attack; the denser the ε, the closer to the mechanism's own
    curve (Dong, Roth, Su 2022, Proposition 2.13).

    Args:
        false_positive_rate: in [0, 1], any shape.
        epsilon: ε ≥ 0, shape (m,), at least one.
        delta: δ in [0, 1] at each ε, shape (m,).
    """
    fpr = _validate.probability("false_positive_rate", false_positive_rate)
    e, d = _profile(epsilon, delta)
    return np.asarray(roc_bound(fpr[..., None], epsilon=e, delta=d).min(axis=-1))


def profile_success(*, epsilon: ArrayLike, delta: ArrayLike, prior: float = 0.5) -> float:
    """The highest accuracy of a guess that a whole privacy curve δ(ε) allows: the least `attack_success` of its pairs.

    Where ε = |ln((1 − π)/π)| is among them it is max(π, 1 − π) + min(π, 1 − π)·δ(ε), and no curve says less: δ at that
    ε is what the best test gains on the likelier answer. At even odds that is (1 + δ(0))/2, for δ(0) is the total
    variation distance between the outputs with and without the example.
    """
    e, d = _profile(epsilon, delta)
    p = _validate.number(prior=prior)
    return float(np.min(attack_success(e, delta=d, prior=p)))


def _profile(epsilon: ArrayLike, delta: ArrayLike) -> tuple[Array, Array]:
    e, d = np.atleast_1d(_validate.epsilon(epsilon)), np.atleast_1d(_validate.probability("delta", delta))
    if e.ndim != 1 or e.shape != d.shape or e.size == 0:
        raise ValueError(f"Expected epsilon and delta as lists of one length >= 1, found shapes {e.shape}, {d.shape}.")
    return e, d

"""The noisy maximum of teachers' votes: what one answer costs, whatever the votes are and at the votes there were.

Teachers are trained on disjoint parts of the data, so that one person's record reaches one teacher: of neighbouring
data sets, one vote of a query moves from one class to another. Two counts change by 1 each, so the counts move by √2 in
the Euclidean norm and by 2 in the sum. Noise is added to every count, and the class with the largest sum is released.

GNMax, noise N(0, σ²): R(α) = α/σ², whatever the votes (Papernot et al. 2018, Proposition 8).
LNMax, noise Lap(b): (2/b, 0)-DP (Papernot et al. 2017, §3.1), and R(α) twice that of one Laplace release of scale b.

At votes that agree, one class i* comes out almost surely, and one vote changes little. With q an upper bound on the
probability of any other outcome, t on that probability for the neighbour, and B on how much likelier the other
outcomes become,

    exp((α − 1) D_α) ≤ (1 − q) A^(α−1) + q B^(α−1),  A = (1 − q)/(1 − t),

for GNMax with t = (q e^(ε₂))^((μ₂−1)/μ₂), B = e^(ε₁) q^(−1/(μ₁−1)), ε_j = μ_j/σ², μ₂ = σ√ln(1/q), μ₁ = μ₂ + 1 ≥ α
(Papernot et al. 2018, Theorem 6 and Proposition 10); for LNMax with t = q e^(2/b), B = e^(2/b) (Papernot et al. 2017,
Theorem 3). The right side must not fall as q grows, for q is only a bound. Its derivative in q is at least

    (α − 1) A^(α−1) ((1 − q) A′/A − 1/(μ₁ − 1))  where B ≥ A,

so what Theorem 6 asks, ((μ₂ − 1)/μ₂) t/q ≥ μ₁/(μ₁ − 1), is enough where B ≥ A. Both are checked; where one does not
hold, what holds for all votes is the answer.

>>> counts = np.array([[90, 6, 4], [50, 48, 2]])
>>> gnmax = GaussianNoisyMax(20.0)
>>> [float(f"{each:.3g}") for each in gnmax.divergence_at(counts, np.array([8.0]))[:, 0]], 8 / 20**2
([0.00298, 0.02], 0.02)
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, logsumexp

from dpviz import _validate
from dpviz._arrays import Array
from dpviz.mechanisms import Event, Laplace, SampledGaussian

# One vote that moves takes 1 from the leader's count and gives 1 to another class: a lead falls by 2 at most.
_LEAD = 2.0


class NoisyMax(ABC):
    """One answer: the class whose count, with noise, is largest."""

    @property
    @abstractmethod
    def event(self) -> Event:
        """A mechanism and how often it is used: together they tell neighbours apart at least as well as one answer."""

    @abstractmethod
    def log_upset(self, lead: Array) -> Array:
        """ln of the probability that a class `lead` ≥ 0 votes behind overtakes the leader; same shape."""

    @abstractmethod
    def likely_divergence(self, log_q: Array, orders: Array) -> Array:
        """The bound for a likely outcome, (queries, orders), from ln q < 0, (queries, 1); inf where it proves none."""

    def divergence(self, orders: Array) -> Array:
        """R(α) of one answer, whatever the votes: (orders,)."""
        mechanism, times = self.event
        curve = mechanism.renyi()
        assert curve is not None
        return np.asarray(times * curve(orders))

    def log_miss(self, votes: Array, *, one_sided: bool = False) -> Array:
        """ln of a bound on the probability that another class than the first of most votes is released: (queries,).

        It holds for the votes (queries, classes) and, unless `one_sided`, for those of every neighbour too. A union
        over the other classes (Papernot et al. 2018, Proposition 7).
        """
        leader = votes.argmax(axis=1)[:, None]
        lead = np.take_along_axis(votes, leader, axis=1) - votes - (0.0 if one_sided else _LEAD)
        # Behind a leader that lost its lead the bound says nothing: probability 1.
        each = np.where(lead >= 0.0, self.log_upset(np.maximum(lead, 0.0)), 0.0)
        np.put_along_axis(each, leader, -np.inf, axis=1)
        return np.asarray(np.minimum(logsumexp(each, axis=1), 0.0))

    def divergence_at(self, votes: Array, orders: Array, *, one_sided: bool = False) -> Array:
        """A bound on the divergence of one answer at these votes from that of any neighbour, (queries, orders).

        Never above `divergence`. It holds in both directions; `one_sided`, as the papers have it, only from these
        votes to the neighbour's.
        """
        log_q = self.log_miss(votes, one_sided=one_sided)
        different, back = np.unique(log_q, return_inverse=True)  # many queries have alike votes
        return np.asarray(self.divergence_within(different, orders)[back])

    def divergence_within(self, log_q: Array, orders: Array) -> Array:
        """The same from ln of a bound on another outcome's probability: (…,) and (orders,) give (…, orders).

        It does not fall as q grows, up to rounding, and is that of any votes for q ≥ 1/e (GNMax) or 1/2 (LNMax).
        """
        some = np.broadcast_to(self.divergence(orders), (*log_q.shape, orders.size)).copy()
        likely = (log_q < 0.0) & np.isfinite(log_q)
        some[likely] = np.fmin(some[likely], self.likely_divergence(log_q[likely][:, None], orders))
        return some


@dataclass(frozen=True)
class GaussianNoisyMax(NoisyMax):
    """GNMax of Papernot et al. 2018. `noise_std`: σ of the noise on every count, in votes, > 0."""

    noise_std: float

    def __post_init__(self) -> None:
        _validate.number(noise_std=self.noise_std)

    @property
    def event(self) -> Event:
        return SampledGaussian(self.noise_std / math.sqrt(2.0)), 1

    def log_upset(self, lead: Array) -> Array:
        return np.asarray(log_ndtr(-lead / (math.sqrt(2.0) * self.noise_std)))

    def likely_divergence(self, log_q: Array, orders: Array) -> Array:
        variance = self.noise_std**2
        second = self.noise_std * np.sqrt(-log_q)
        first = second + 1.0
        with np.errstate(divide="ignore", invalid="ignore"):  # μ₂ ≤ 1 proves nothing
            share = np.where(second > 1.0, (second - 1.0) / second, np.nan)
            log_t = share * (log_q + second / variance)
            log_b = first / variance - log_q / second
            steep = np.log(share) + log_t - log_q >= np.log(first / second)
        return np.where(steep & (orders <= first), _split(orders, log_q, log_t, log_b), np.inf)


@dataclass(frozen=True)
class LaplaceNoisyMax(NoisyMax):
    """LNMax of Papernot et al. 2017. `noise_scale`: b of the noise on every count, in votes, > 0 (1/γ there)."""

    noise_scale: float

    def __post_init__(self) -> None:
        _validate.number(noise_scale=self.noise_scale)

    @property
    def event(self) -> Event:
        return Laplace(self.noise_scale), 2

    def log_upset(self, lead: Array) -> Array:
        """The difference of two Laplace noises is beyond d with probability (2 + d/b)/4 · e^(−d/b) (2017, Lemma 4)."""
        apart = lead / self.noise_scale
        return np.asarray(np.log((2.0 + apart) / 4.0) - apart)

    def likely_divergence(self, log_q: Array, orders: Array) -> Array:
        pure = 2.0 / self.noise_scale
        return _split(orders, log_q, log_q + pure, np.full_like(log_q, pure))


def _split(orders: Array, log_q: Array, log_t: Array, log_b: Array) -> Array:
    """ln((1 − q) A^(α−1) + q B^(α−1))/(α − 1); inf where t ≥ 1 or B < A."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log_a = _log1mexp(log_q) - _log1mexp(log_t)
        power = orders - 1.0
        total = np.logaddexp(_log1mexp(log_q) + power * log_a, log_q + power * log_b) / power
        return np.where((log_t < 0.0) & (log_b >= log_a), total, np.inf)


def _log1mexp(x: Array) -> Array:
    """ln(1 − e^x) for x < 0."""
    return np.asarray(np.where(x > -math.log(2.0), np.log(-np.expm1(x)), np.log1p(-np.exp(x))))

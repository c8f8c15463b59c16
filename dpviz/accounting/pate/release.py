"""Publishing what PATE's answers cost at the votes there were: smooth sensitivity, and the ε that comes of it.

Publishing a number that depends on private data, with noise by its smooth sensitivity (Nissim et al. 2007).

S is a β-smooth bound of a number v where, for every pair of neighbours D and D′, |v(D) − v(D′)| ≤ min(S(D), S(D′)) and
S(D) ≤ e^β S(D′). Two numbers are published:

    ln S + β τ Z₁  and  v + S σ Z₂,  Z₁, Z₂ ~ N(0, 1).

The first is a Gaussian mechanism, for ln S moves by β at most: R(α) = α/(2τ²). The second (GNSS of Papernot et al.
2018) has the divergence of two Gaussians whose standard deviations differ by a factor r in [e^(−β), e^β] and whose
means differ by min(1, r)/σ of the first one's. Both terms of that divergence,

    α min(1, r²)/(2σ²(1 + α(r² − 1))) + (α ln r − ½ ln(1 + α(r² − 1)))/(α − 1),

are largest at r = e^(−β), which is allowed: it is the cost, and no bound on it. It is finite where α(1 − e^(−2β)) < 1.
The closed form α e^(2β)/σ² + (βα − ½ ln(1 − 2αβ))/(α − 1) of Papernot et al. 2018, Theorem 23, lacks the denominator
of the first term and is less than the divergence as 2αβ nears 1; it is not used.

From both numbers anyone can work out a limit above v: the second plus c σ times e to the first. It is below v where
Z₂ < −c e^(βτZ₁), which happens with probability E Φ(−c e^(βτZ₁)) whatever the data are; c is where that is γ.

>>> release = SmoothRelease(order=20.0, smoothness=0.01, noise=8.0, log_noise=8.0, chance=1e-3)
>>> round(release.cost, 3)
0.413

How much one teacher can change what GNMax's answers cost at known votes, now and once d teachers have changed.

Neighbours: one teacher's votes change, one vote of each query moves. Sorted counts then change by 1 at most, so every
sorted lead by 2 at most. Write q = Σ Φ(−Δᵢ/(√2 σ)) for the bound on an upset (Papernot et al. 2018, Proposition 7) and
call L the *common lead*: that of all m − 1 other classes alike which has the same q. As x ↦ Φ(Φ⁻¹(x) + c) is concave
for c > 0 and convex for c < 0, Jensen's inequality bounds what 2 votes on every lead do to q: L too moves by 2 at most
(Papernot et al. 2018, Proposition 13, say the same of q).

An answer's cost F(L) does not increase in L (`noisy_max`: it does not fall as q grows, and where its bound fails it is
that of any votes, the largest). Neighbours at L and L″ thus differ by at most G(x) = F(x − 2) − F(x) at x = max(L, L″),
and within d teachers of the votes, where L is in [a, b], by at most G's largest value on [a, b + 2].

- a: the leader loses d votes to the second, Φ being convex where leads are positive; no bound once they meet.
- b: the leader gains d votes, and the others lose d that level the shortest leads, up to all teachers.

Both widen from neighbour to neighbour, so LS(d, votes) ≤ LS(d + 1, neighbour's votes) holds of these bounds themselves,
and S = max over d of e^(−βd) LS(d) is β-smooth. G is bounded on cells of a grid by F at their two ends, and then by the
least bound with one peak: neither rests on F's shape beyond that it does not increase.

Two directions (`noisy_max`) take 2 off every lead, which shifts all of this and changes nothing else: q counts only
below 1/2, where all such leads are positive.

The cost of PATE's answers at the votes there were, made fit to be published (Papernot et al. 2018, Appendix B).

The divergence of all answers at one order α is a function of private votes. It is published with noise by its smooth
sensitivity (`vote_sensitivity`, `smooth_release`), which costs a divergence of its own, whatever the votes; so what
stands in the end is

    limit above the answers' divergence, at most that of any votes  +  cost of publishing  →  ε at this δ.

It errs above: but for the chance γ it is no less than ε at these votes of answers and publication together. It is a
statement about these votes, as `pate_epsilon_at` is; that it can be told, and not that it holds for all votes, is new.
Of Confident-GNMax every check is paid for as at any votes, and every query as if it were answered: the check's own
cost at known votes is not smoothed.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike
from dpviz.accounting.pate.answers import GaussianNoisyMax, checked_votes
from dpviz.accounting.renyi.conversion import to_bound


@dataclass(frozen=True)
class SmoothRelease:
    """How a number is published; all of it is chosen without looking at the data.

    Attributes:
        order: α > 1, at which the cost is counted.
        smoothness: β > 0, less than −½ ln(1 − 1/α).
        noise: σ > 0, in smooth sensitivities.
        log_noise: τ > 0, of ln S, in β; βτ ≤ 10.
        chance: γ in (0, 1), that the limit is below the number.
    """

    order: float
    smoothness: float
    noise: float
    log_noise: float
    chance: float

    def __post_init__(self) -> None:
        order = float(_validate.orders([self.order])[0])
        for name in ("smoothness", "noise", "log_noise"):
            _validate.scalar(name, _validate.positive(name, getattr(self, name)))
        _validate.number(chance=self.chance)
        if not self.smoothness < (most := most_smoothness(order)):
            raise ValueError(
                f"Expected smoothness={self.smoothness:g} < {most:.4g} = -ln(1 - 1/order)/2 for order={order:g}: "
                "beyond it the release has no finite cost at this order. Give a smaller smoothness or order."
            )
        if not self.smoothness * self.log_noise <= 10.0:
            raise ValueError(
                f"Expected smoothness={self.smoothness:g} times log_noise={self.log_noise:g} <= 10: beyond it nothing "
                "is left of the smooth sensitivity that is published. Give a smaller log_noise."
            )

    @property
    def cost(self) -> float:
        """R(α) of both numbers."""
        order, beta = self.order, self.smoothness
        apart = -order * math.expm1(-2.0 * beta)  # α(1 − e^(−2β)) < 1
        moved = order * math.exp(-2.0 * beta) / (2.0 * self.noise**2 * (1.0 - apart))
        widened = (-order * beta - 0.5 * math.log1p(-apart)) / (order - 1.0)
        return moved + widened + order / (2.0 * self.log_noise**2)

    @cached_property
    def factor(self) -> float:
        """c ≥ 0 of the limit; 0 where γ ≥ 1/2."""
        if self.chance >= 0.5:
            return 0.0
        z = np.linspace(-10.0, 10.0, 8001)
        weights = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
        spread = np.exp(self.smoothness * self.log_noise * z)

        def too_often(log_c: float) -> float:
            return float(weights @ ndtr(-math.exp(log_c) * spread)) - self.chance

        # Enough, by a union: each draw is beyond this with probability γ/2.
        end = -float(ndtri(self.chance / 2.0))
        high = math.log(end) + self.smoothness * self.log_noise * end
        if too_often(-60.0) <= 0.0:
            return math.exp(-60.0)
        return math.exp(float(brentq(too_often, -60.0, high, xtol=1e-12)) + 1e-9)

    def limit(self, value: Array, smooth: Array, draws: tuple[float, float]) -> Array:
        """What the published numbers put above `value`; `draws`: Z₁ and Z₂, which must stay secret."""
        published = np.exp(np.log(smooth) + self.smoothness * self.log_noise * draws[0])
        return np.asarray(value + self.noise * (smooth * draws[1] + self.factor * published))


def most_smoothness(order: float) -> float:
    """β below which a release has a finite cost at this order."""
    return -0.5 * math.log1p(-1.0 / order)


# One vote that moves changes a sorted lead by 2 at most.
STEP = 2.0
# Cells a step, and at most so many in all; beyond 60 σ an answer costs nothing to speak of.
_CELLS, _MOST, _FAR = 32, 200_000, 60.0
# Teachers that change, beyond which the largest change of all is taken.
DISTANCES = 2000
# Of what any votes cost: below it a sensitivity is taken as this much, far above rounding.
_FLOOR = 1e-9


@dataclass(frozen=True)
class VoteSensitivity:
    """Of one GNMax answer at one order.

    Attributes:
        noise_std: σ, in votes.
        order: α > 1.
        teachers: how many vote, K.
        classes: m ≥ 2.
        one_sided: whether leads are taken as they are, or less 2.
    """

    noise_std: float
    order: float
    teachers: int
    classes: int
    one_sided: bool = False

    def cost(self, lead: Array) -> Array:
        """F: what an answer costs at this common lead; same shape."""
        log_q = np.minimum(math.log(self.classes - 1) + self._log_upset(lead), 0.0)
        return GaussianNoisyMax(self.noise_std).divergence_within(log_q, np.array([self.order]))[..., 0]

    def common_lead(self, leads: Array) -> Array:
        """L of leads (…, classes − 1): (…,)."""
        each = self._log_upset(leads)
        largest = each.max(axis=-1)
        log_q = largest + np.log(np.exp(each - largest[..., None]).sum(axis=-1))
        return np.asarray(-math.sqrt(2.0) * self.noise_std * ndtri_exp(log_q - math.log(self.classes - 1)))

    def changes(self) -> tuple[Array, Array]:
        """Cells' edges (cells,), the last cell being open, and a bound on G in each with one peak: (cells,)."""
        start = -math.sqrt(2.0) * self.noise_std * float(ndtri_exp(-math.log(2.0 * (self.classes - 1))))
        end = max(min(self._most, start + _FAR * self.noise_std), start)
        edges = np.linspace(start, end, min(math.ceil((end - start) * _CELLS / STEP) + 1, _MOST))
        before = self.cost(edges - STEP)
        # What lies beyond the last edge may cost nothing, unless no votes are there.
        after = np.append(self.cost(edges[1:]), 0.0 if end < self._most else float(self.cost(np.array(self._most))))
        each = np.maximum(before - after, 0.0)
        return edges, np.minimum(np.maximum.accumulate(each), np.maximum.accumulate(each[::-1])[::-1])

    def local(self, votes: Array) -> Array:
        """LS(d) of each query, (queries, distances), for d = 0, 1, …; the last column is that of all votes."""
        counts = np.sort(votes, axis=1)[:, ::-1]
        leads = counts[:, :1] - counts[:, 1:] - (0.0 if self.one_sided else STEP)
        others = np.arange(1, leads.shape[1] + 1)
        shortest = np.cumsum(leads, axis=1)
        edges, change = self.changes()
        peak = int(change.argmax())
        distances = min(math.ceil(self.teachers / 2), DISTANCES)
        change_at = np.full((len(votes), distances + 1), change[peak])
        for d in range(distances):
            least = leads - d
            least[:, 0] -= d
            low = np.where(least[:, 0] > 0.0, self.common_lead(np.maximum(least, 0.0)), -np.inf)
            # Whole numbers until the division: equal levels come out equal, whichever votes one looks from.
            level = ((shortest + d + others * d) / others).min(axis=1)
            high = np.minimum(self.common_lead(np.maximum(leads + d, level[:, None])) + STEP, self._most)
            first, last = (np.searchsorted(edges, each, side="right") - 1 for each in (low, high))
            change_at[:, d] = np.where(last < 0, 0.0, change[np.clip(peak, np.maximum(first, 0), np.maximum(last, 0))])
        return change_at

    @property
    def _most(self) -> float:
        """The common lead where all teachers agree."""
        return self.teachers - (0.0 if self.one_sided else STEP)

    def _log_upset(self, lead: Array) -> Array:
        return np.asarray(log_ndtr(-lead / (math.sqrt(2.0) * self.noise_std)))


def smooth(local: Array, smoothness: float, whatever: ArrayLike) -> Array:
    """S of LS(d) (…, distances), never 0; `whatever` (…,): the cost at any votes."""
    discount = np.exp(-smoothness * np.arange(local.shape[-1]))
    return np.asarray(np.maximum((local * discount).max(axis=-1), _FLOOR * np.asarray(whatever)))


def pate_epsilon_released(
    votes: ArrayLike,
    *,
    delta: float,
    noise_std: float,
    release: SmoothRelease,
    draw: np.random.Generator,
    threshold_std: float | None = None,
    one_sided: bool = False,
) -> Array:
    """ε that may be published after each query, (queries,): one of them, once, for each that is published costs again.

    Args:
        votes, delta, noise_std, threshold_std, one_sided: as in `pate_epsilon_at`.
        release: how it is published, chosen without looking at the votes.
        draw: where the two random numbers come from; who knows them knows what they hide.
    """
    counts = checked_votes(votes)
    total, local = answers(counts, noise_std, release.order, one_sided=one_sided)
    return released_epsilon(
        np.cumsum(total),
        np.cumsum(local, axis=0),
        np.arange(1.0, len(counts) + 1.0),
        delta=delta,
        noise_std=noise_std,
        release=release,
        draws=(draw.normal(), draw.normal()),
        threshold_std=threshold_std,
    )


def answers(counts: Array, noise_std: float, order: float, *, one_sided: bool) -> tuple[Array, Array]:
    """The divergence of each answer, (queries,), and its local sensitivities, (queries, distances)."""
    cost = GaussianNoisyMax(noise_std).divergence_at(counts, np.array([order]), one_sided=one_sided)[:, 0]
    different, back = np.unique(np.sort(counts, axis=1), axis=0, return_inverse=True)
    at = VoteSensitivity(noise_std, order, int(counts[0].sum()), counts.shape[1], one_sided)
    return cost, at.local(different)[back.ravel()]


def released_epsilon(
    total: Array,
    local: Array,
    queries: Array,
    *,
    delta: float,
    noise_std: float,
    release: SmoothRelease,
    draws: tuple[float, float],
    threshold_std: float | None = None,
) -> Array:
    """ε from sums over so many queries (n,) of `answers`, (n,) and (n, distances)."""
    whatever = queries * release.order / noise_std**2
    limit = release.limit(total, smooth(local, release.smoothness, whatever), draws)
    checks = 0.0
    if threshold_std is not None:
        check = _validate.number(threshold_std=threshold_std)
        checks = release.order / (2.0 * check**2)
    spent = np.minimum(limit, whatever) + queries * checks + release.cost
    delta = _validate.number(delta=delta)
    return np.asarray(to_bound(spent[:, None], np.array([release.order]), delta, "improved").epsilon)

"""Sensitivity of the cost of GNMax's answers to one teacher's votes: at known votes, and within d teachers of them.

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
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from dpviz._arrays import Array, ArrayLike
from dpviz.accounting.pate.noisy_max import GaussianNoisyMax

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

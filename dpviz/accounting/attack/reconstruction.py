"""Secret bits rebuilt from noisy counts of random subsets, by least squares (Dinur & Nissim 2003).

>>> attack = rebuild(bits=40, counts=160, seed=1)
>>> [round(share, 2) for share in attack.share(np.array([0.5, 1000.0])).tolist()]
[1.0, 0.53]
"""

from dataclasses import dataclass

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, Bools
from dpviz._remember import remembered

MOST_BITS, MOST_COUNTS = 1000, 10_000
REPEATS = 40  # noises, in pairs of opposites, so that chance favours no data set


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """What least squares makes of counts with noise σ: each bit's estimate, less one half, is `signal` + σ `noise`.

    Attributes:
        secret: the bits, (n,).
        signal: (n,).
        noise: of REPEATS noises, (REPEATS, n), the second half opposite to the first; the first is released.
    """

    secret: Bools
    signal: Array
    noise: Array

    def guess(self, noise_std: float) -> Bools:
        """The rebuilt bits, (n,)."""
        return np.asarray(self.signal + noise_std * self.noise[0] > 0.0)

    def share(self, noise_std: Array) -> Array:
        """The share of right bits at each noise, (k,), from the one noise that is released."""
        return np.asarray(self._right(noise_std, self.noise[:1]).mean(axis=(1, 2)))

    def mean_share(self, noise_std: Array) -> tuple[Array, Array, Array]:
        """Mean, least and largest share of right bits over all noises, at each σ; (k,) each."""
        each = self._right(noise_std, self.noise).mean(axis=2)
        return each.mean(axis=1), each.min(axis=1), each.max(axis=1)

    def _right(self, noise_std: Array, noise: Array) -> Bools:
        estimate = self.signal + np.asarray(noise_std, dtype=np.float64)[:, None, None] * noise
        return np.asarray((estimate > 0.0) == self.secret)


@remembered
def rebuild(*, bits: int, counts: int, seed: int) -> Rebuilt:
    """The attack on `counts` counts, each of a random half of the secret bits; one seed, one data set.

    Bits are fair coins, and each subset holds each bit by a fair coin; the subsets are public. The least of all
    solutions is taken where there are fewer counts than bits: those bits that no count tells stay at one half. Fewer
    counts of the same seed are the first of more.

    Args:
        bits: n, 2 to MOST_BITS.
        counts: m, 1 to MOST_COUNTS.
        seed: of the bits, subsets and noises; ≥ 0.
    """
    n, m = _validate.whole(2, bits=bits), _validate.whole(1, counts=counts)
    for name, value, most in (("bits", n, MOST_BITS), ("counts", m, MOST_COUNTS)):
        if value > most:
            raise ValueError(f"Expected {name}={value} <= {most}: larger problems take long.")
    secret = np.random.default_rng((seed, n, 0)).random(n) < 0.5
    subsets = (np.random.default_rng((seed, n, 1)).random((m, n)) < 0.5).astype(np.float64)
    normal = np.random.default_rng((seed, n, 2)).standard_normal((m, REPEATS // 2))
    true = subsets @ (secret - 0.5)
    solved = np.linalg.lstsq(subsets, np.column_stack([true, normal]), rcond=None)[0].T
    return Rebuilt(secret, solved[0], np.concatenate([solved[1:], -solved[1:]]))

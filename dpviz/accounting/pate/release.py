"""The cost of PATE's answers at the votes there were, made fit to be published (Papernot et al. 2018, Appendix B).

The divergence of all answers at one order α is a function of private votes. It is published with noise by its smooth
sensitivity (`vote_sensitivity`, `smooth_release`), which costs a divergence of its own, whatever the votes; so what
stands in the end is

    limit above the answers' divergence, at most that of any votes  +  cost of publishing  →  ε at this δ.

It errs above: but for the chance γ it is no less than ε at these votes of answers and publication together. It is a
statement about these votes, as `pate_epsilon_at` is; that it can be told, and not that it holds for all votes, is new.
Of Confident-GNMax every check is paid for as at any votes, and every query as if it were answered: the check's own
cost at known votes is not smoothed.
"""

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike
from dpviz.accounting.pate.answers import checked_votes
from dpviz.accounting.pate.noisy_max import GaussianNoisyMax
from dpviz.accounting.pate.smooth_release import SmoothRelease
from dpviz.accounting.pate.vote_sensitivity import VoteSensitivity, smooth
from dpviz.accounting.renyi.conversion import to_bound


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
    """Publishable ε after each query, (queries,), by smooth sensitivity. Publish one value only: each costs privacy.

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

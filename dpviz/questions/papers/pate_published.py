"""PATE's ε at known votes as it may be published: noise by its smooth sensitivity, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz._remember import remembered
from dpviz.accounting.pate.release import SmoothRelease, answers, most_smoothness, released_epsilon
from dpviz.charts.marks import Array
from dpviz.experiments.record import recorded
from dpviz.experiments.teachers import VOTES as EXPERIMENT
from dpviz.fields import numbers
from dpviz.training.ensemble import votes_of

# The noise on ln S, in β, and the chance that what is published is too low.
LOG_NOISE, CHANCE = 4.0, 0.01


@dataclass(frozen=True)
class Publication:
    """How the cost at the votes is published; `share`: β as a share of its most; `draw`: a seed."""

    order: float
    share: float
    noise: float
    draw: int

    @property
    def release(self) -> SmoothRelease:
        return SmoothRelease(self.order, self.share * most_smoothness(self.order), self.noise, LOG_NOISE, CHANCE)

    @property
    def formulas(self) -> list[tuple[str, str]]:
        """What is published and what that costs, with today's numbers."""
        r, plain = self.release, numbers.plain
        first = rf"\alpha = {plain(r.order)},\ \beta = {plain(r.smoothness)},\ \sigma_{{ss}} = {plain(r.noise)}"
        return [
            (
                "Smooth sensitivity of the cost at these votes",
                rf"S = \max_d e^{{-\beta d}}\,LS(d),\ {first}",
            ),
            (
                f"Sanitised: a limit that is too low with probability {numbers.probability(CHANCE)}",
                r"R(\alpha) \le v + S\sigma_{ss}Z_2 + c\,\sigma_{ss}\,S e^{\beta\tau Z_1},\ "
                rf"c = {plain(r.factor)},\ \tau = {plain(r.log_noise)}",
            ),
            (
                "What publishing costs, whatever the votes",
                r"\frac{\alpha}{2\sigma_{ss}^2(\alpha-(\alpha-1)e^{2\beta})}"
                r" - \frac{\alpha\beta + \frac12\ln(1-\alpha(1-e^{-2\beta}))}{\alpha-1} + \frac{\alpha}{2\tau^2}"
                rf" = {plain(r.cost)}",
            ),
        ]

    def epsilon(
        self, queries: Array, votes: str | Array, noise: dict[str, Any], *, delta: float, one_sided: bool
    ) -> Array:
        """After so many queries; `votes`: of recorded teachers, by their number, or of one query for all, (1, m)."""
        if isinstance(votes, str):
            total, local = recorded_sums(votes, noise["noise_std"], self.order, one_sided)
            total, local = (each[queries.astype(int) - 1] for each in (total, local))
        else:
            each, change = answers(votes, noise["noise_std"], self.order, one_sided=one_sided)
            total, local = queries * each, queries[:, None] * change
        first, second = np.random.default_rng((1, self.draw)).normal(size=2)
        release = self.release
        return released_epsilon(total, local, queries, delta=delta, release=release, draws=(first, second), **noise)


@remembered
def recorded_votes(teachers: str) -> Array:
    """Votes (queries, classes) of so many recorded teachers."""
    counts = votes_of(recorded(EXPERIMENT.key).of(teachers)[0].found["votes"]).astype(np.float64)
    counts.setflags(write=False)
    return counts


@remembered
def recorded_sums(teachers: str, noise_std: float, order: float, one_sided: bool) -> tuple[Array, Array]:
    """Sums of `answers` after each query of so many recorded teachers: (queries,) and (queries, distances)."""
    cost, local = answers(recorded_votes(teachers), noise_std, order, one_sided=one_sided)
    sums = np.cumsum(cost), np.cumsum(local, axis=0)
    for each in sums:
        each.setflags(write=False)
    return sums

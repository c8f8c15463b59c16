"""Votes of an ensemble of teachers: recorded ones, or the same on every query; and what they say of the answers."""

import math
from typing import NamedTuple

import numpy as np

from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.pate.answers import Threshold
from dpviz.accounting.pate.release import answers
from dpviz.experiments.record import recorded
from dpviz.training.ensemble import votes_of

CLASSES = 10
RECORD = "teachers"


class VoteRecord(NamedTuple):
    """How votes were recorded, and how often a teacher and the class with the most votes are right."""

    made: str
    teachers_right: float
    votes_right: float


def vote_record(teachers: str) -> VoteRecord:
    """Of so many recorded teachers."""
    measured = recorded(RECORD).of(teachers)[0].found
    return VoteRecord(recorded(RECORD).made, measured["teachers_right"], measured["votes_right"])


@remembered
def recorded_votes(teachers: str) -> Array:
    """Votes (queries, classes) of so many recorded teachers."""
    counts = votes_of(recorded(RECORD).of(teachers)[0].found["votes"]).astype(np.float64)
    counts.setflags(write=False)
    return counts


def votes_with(teachers: int, agreement: float) -> Array:
    """One query's votes, (1, classes): a share for the first class, the rest spread over the others."""
    first = max(round(agreement * teachers), math.ceil(teachers / CLASSES))
    share, over = divmod(teachers - first, CLASSES - 1)
    return np.array([[first, *(share + (i < over) for i in range(CLASSES - 1))]], dtype=np.float64)


def lead(counts: Array) -> float:
    """Votes by which the first class is ahead of the second, on the median query."""
    ascending = np.sort(counts, axis=1)
    return float(np.median(ascending[:, -1] - ascending[:, -2]))


def answered_shares(counts: Array, check: Threshold | None) -> Array:
    """The probability that each query is answered, (queries,)."""
    if check is None:
        return np.ones(len(counts))
    return np.exp(check.log_answered(counts.max(axis=1))[0])


def summed(each: Array, queries: Array) -> Array:
    """Sums over so many first queries, (n, …), of values of each, (queries, …); a single row is that of every query."""
    if len(each) == 1:
        return np.asarray(np.multiply.outer(queries, each[0]))
    return np.asarray(np.cumsum(each, axis=0)[queries.astype(int) - 1])


@remembered
def recorded_sums(teachers: str, noise_std: float, order: float, one_sided: bool) -> tuple[Array, Array]:
    """Sums of `answers` after each query of so many recorded teachers: (queries,) and (queries, distances)."""
    cost, local = answers(recorded_votes(teachers), noise_std, order, one_sided=one_sided)
    sums = np.cumsum(cost), np.cumsum(local, axis=0)
    for each in sums:
        each.setflags(write=False)
    return sums

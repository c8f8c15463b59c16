"""A told step: what it costs, and what was told of it, as the store keeps it."""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dpviz import _validate
from dpviz._arrays import Array
from dpviz.mechanisms import Mechanism
from dpviz.runs.told.settings import ToldSettings

MOST_NORMS = 100  # of a step: more are drawn from, at random


class ToldStep(NamedTuple):
    """A step that is charged, and what was told of it."""

    mechanism: Mechanism
    norms: list[float]
    row: dict[str, Any]


def kept_norms(norms: npt.ArrayLike | None, terms: ToldSettings) -> list[float]:
    """The norms that are kept of a step: cut to C, as random ones of all as the batch is.

    Raises:
        ValueError: C was not told, or a norm is no number >= 0.
    """
    if norms is None:
        return []
    if terms.max_grad_norm is None:
        raise ValueError("Expected no norms without C: give max_grad_norm= and steps= to dpviz.watch.")
    lengths: Array = np.asarray(norms, dtype=np.float64).ravel()
    if np.isnan(lengths).any() or (lengths < 0.0).any():
        raise ValueError("Expected norms to be numbers >= 0: give the norm of each example's gradient.")
    if lengths.size > MOST_NORMS:
        lengths = np.random.default_rng().choice(lengths, MOST_NORMS, replace=False)
    return np.minimum(lengths, terms.max_grad_norm).tolist()  # type: ignore[no-any-return]


def finite(name: str, value: float | None) -> float | None:
    """A number as the store keeps it: none for one that is not finite, as the loss of a training that diverged."""
    if value is None:
        return None
    number = _validate.scalar(name, np.asarray(value, dtype=np.float64))
    return number if math.isfinite(number) else None

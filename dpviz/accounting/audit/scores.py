"""Scores of the best attack: the logarithm of the likelihood ratio of what a run released (Neyman & Pearson 1933)."""

import numpy as np
import numpy.typing as npt

from dpviz._arrays import Array


def log_likelihood(
    released: Array, *, signal: float, noise: float, rate: npt.ArrayLike = 1.0, together: int = 1
) -> Array:
    """Of each run (runs,), up to what does not depend on the signal.

    Args:
        released: Sums along the example's gradient in units of C, (runs, steps).
        signal: What the example adds where it takes part.
        noise: σ.
        rate: Probability with which it takes part in each step, independently: a number, or one of each step.
        together: Batches of an epoch of which it is in exactly one, drawn uniformly: `rate` has no part then.
    """
    loss = (2.0 * signal * released - signal**2) / (2.0 * noise**2)
    if together == 1:
        with np.errstate(over="ignore"):
            each = np.where(np.asarray(rate) < 1.0, np.log1p(rate * np.expm1(np.minimum(loss, 700.0))), loss)
        return np.asarray(each.sum(axis=1))
    pad = -released.shape[1] % together
    epochs = np.pad(np.exp(loss), ((0, 0), (0, pad)), constant_values=1.0)
    return np.asarray(np.log(epochs.reshape(len(released), -1, together).mean(axis=2)).sum(axis=1))


def log_likelihood_of_known(released: Array, signals: Array, noise: float) -> Array:
    """The same where it is known what the example adds to each step, (runs, steps)."""
    return np.asarray(((2.0 * released - signals) * signals).sum(axis=1) / (2.0 * noise**2))

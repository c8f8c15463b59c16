"""The true δ of the ε that was planned for a step, read at a stop that results chose: an optimal stopping problem.

T Gaussian steps without sampling, of parameter μ together, cost ε_t(δ) if a stop at t was planned. Whoever looks at the
results and stops where they give most away releases more: with the loss L_t after t steps, the pair (ε_τ, δ*) holds for
all stopping times τ from step f on with

    δ* = sup_τ E_P[(1 − e^{ε_τ − L_τ})₊].

With X = e^L, a martingale under Q, that is the price E_Q[(X_τ − K_τ)₊] of an American option whose strike
K_t = e^{ε_t} rises (Snell's envelope, backwards from T): its value is convex in X. On a grid even in L each step is
replaced by one to the two grid points around it that keeps the mean of X, which is larger in convex order: the result
is never too small.

>>> chosen = chosen_stop_delta(mu=1.0, steps=20, delta=1e-5)
>>> bool(chosen[0] > 5e-5), bool(1e-5 <= chosen[-1] < 1.02e-5)
(True, True)
"""

import math

import numpy as np
from scipy.special import ndtr

from dpviz import _validate
from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.mechanisms import SampledGaussian

MOST_STEPS, MOST_MU = 300, 20.0
CELLS = 24  # of the grid to the standard deviation of a step's loss: the excess is below 1 % at δ ≥ 1e-12


@remembered
def chosen_stop_delta(*, mu: float, steps: int, delta: float) -> Array:
    """δ* if one may stop at any step from the f-th on, for f = 1, …, T, shape (T,): the last one is a planned stop's.

    Args:
        mu: μ in (0, 20] of all steps together, as of one Gaussian mechanism of noise multiplier 1/μ.
        steps: T, in 1 to 300.
        delta: Of the planned ε, in (0, 1).

    Raises:
        ValueError: For an argument out of range, named.
    """
    mu, delta = _validate.number(mu=mu), _validate.number(delta=delta)
    steps = int(_validate.scalar("steps", _validate.steps(steps, minimum=1)))
    if not 0.0 < mu <= MOST_MU:
        raise ValueError(f"Expected mu={mu:g} > 0 and <= {MOST_MU:g}, the parameter of all steps together; try 1.")
    if steps > MOST_STEPS:
        raise ValueError(f"Expected steps={steps} <= {MOST_STEPS}: take several steps between two stops; try 100.")
    step = mu / math.sqrt(steps)
    planned = planned_stop_epsilon(mu=mu, steps=steps, delta=delta)
    cell, reach = step / CELLS, math.sqrt(2.0 * math.log(1.0 / delta)) + 4.0
    half = math.ceil((reach * mu + 0.5 * mu * mu) / cell)
    loss = cell * np.arange(-half, half + 1)
    kernel = _split(step, cell, reach)
    value, true_deltas = np.zeros(loss.size), np.zeros(steps)
    for at in range(steps, 0, -1):
        ahead = _expected(value, kernel) if at < steps else value
        value = np.maximum(ahead, np.maximum(-np.expm1(planned[at - 1] - loss), 0.0))
        true_deltas[at - 1] = _expected(value, _split(step * math.sqrt(at), cell, reach), half)[0]
    beyond = steps * ndtr(-reach)  # of a step's loss, which was moved down
    return np.minimum(np.maximum(true_deltas + beyond, delta), 1.0)


def planned_stop_epsilon(*, mu: float, steps: int, delta: float) -> Array:
    """ε at δ after each step, shape (T,), had a stop there been planned: that of the Gaussian mechanism."""
    one = SampledGaussian(math.sqrt(steps) / mu, 1.0)
    return np.asarray(tight_epsilon(one, np.arange(1.0, steps + 1.0), delta).upper)


def _split(spread: float, cell: float, reach: float) -> Array:
    """Probabilities under P of the moves −m, …, m cells (2m + 1,), of a loss N(spread²/2, spread²) split to the grid.

    Under Q it is N(−spread²/2, spread²). Of what falls between two grid points each gets so much that X keeps its mean.
    The tails beyond `reach` standard deviations count as the last moves: too small by at most Φ(−reach) on the right.
    """
    most = math.ceil((reach * spread + 0.5 * spread * spread) / cell) + 1
    ends = cell * np.arange(-most, most + 1, dtype=np.float64)
    under_q, under_p = (_masses((ends - mean) / spread) for mean in (-0.5 * spread**2, 0.5 * spread**2))
    left, right = np.exp(ends[:-1]), np.exp(ends[1:])
    to_right = np.clip((under_p - left * under_q) / (right - left), 0.0, under_q)
    moves = np.zeros(ends.size)
    moves[1:] += to_right * right
    moves[:-1] += (under_q - to_right) * left
    moves[[0, -1]] += ndtr((ends[[0, -1]] - 0.5 * spread**2) / spread * (1.0, -1.0))
    return moves


def _masses(ends: Array) -> Array:
    """Of a standard normal between neighbouring `ends`, each from the nearer tail, where digits are."""
    below, above = np.diff(ndtr(ends)), -np.diff(ndtr(-ends))
    return np.where(ends[:-1] > 0.0, above, below)


def _expected(value: Array, moves: Array, at: int | None = None) -> Array:
    """E_P of the value after a move, at each grid point or `at` one: 1 above the grid, below it as at its end."""
    reach = moves.size // 2
    around = np.concatenate([np.full(reach, value[0]), value, np.ones(reach)])
    if at is not None:
        around = around[at : at + moves.size]
    return np.convolve(around, moves[::-1], mode="valid")

"""Bounds on the mean squared error of private Langevin dynamics, up to the constant C.


Li, Chen, Liu, Carin 2019, §3.2. For step sizes η_t their source (Chen, Ding, Carin 2015, Theorem 5; App. E) says
    MSE/C ≤ Σ η_t²/S² · (N/τ − 1) N² Γ + 1/S + (Σ η_t²)²/S²,   S = Σ η_t,
which is Lemma 6 for a fixed step size: (N/τ − 1) N² Γ/T + 1/(Tη) + η².
Proposition 5 is meant to be the same for η_t = η₁ t^(−1/3), yet neither its powers of T nor its factors follow from it
(Σ η_t²/S² tends to 4/(3T), where 2/(3T) is printed). `mse_of_schedule` sums; `mse_proposition5` is what is printed.

Γ measures how much gradients differ between examples. It is not known and no step size changes its term.
"""

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike
from dpviz.accounting.schedules import power_sums


def mse_of_schedule(
    step_size: ArrayLike, *, exponent: float, steps: int, n: float, batch_size: float, gradient_variance: float = 0.0
) -> Array:
    """MSE/C of η_t = step_size · t^(−exponent), t ≤ steps; exponent 0 is Lemma 6. Shape of `step_size`."""
    size = _validate.positive("step_size", step_size)
    sampling, slow, bias = _terms(exponent, steps, n, batch_size, gradient_variance)
    return np.asarray(sampling + slow / size + bias * size**2)


def best_step_size(*, exponent: float, steps: int) -> float:
    """The step size that minimises `mse_of_schedule`: (2T)^(−1/3) for a fixed one, O(T^(−1/3)) as in Lemma 6."""
    _, slow, bias = _terms(exponent, steps, 1.0, 1.0, 0.0)
    return float((slow / (2.0 * bias)) ** (1.0 / 3.0))


def _terms(exponent: float, steps: int, n: float, batch_size: float, variance: float) -> tuple[float, float, float]:
    p = _validate.number(exponent=exponent)
    last = np.array([float(_validate.whole(1, steps=steps))])
    first = np.ones(1)
    total, squares = float(power_sums(first, last, p)[0]), float(power_sums(first, last, 2.0 * p)[0])
    return squares / total**2 * _sampling(n, batch_size, variance), 1.0 / total, (squares / total) ** 2


def _sampling(n: float, batch_size: float, variance: float) -> float:
    size, batch, spread = _validate.numbers(n=n, batch_size=batch_size, gradient_variance=variance)
    if batch > size:
        raise ValueError(f"Expected batch_size={batch:.12g} <= n={size:.12g}.")
    return (size / batch - 1.0) * size**2 * spread


def mse_proposition5(
    scale: ArrayLike, *, steps: int, n: float, batch_size: float, gradient_variance: float = 0.0
) -> Array:
    """MSE/C of Proposition 5 as printed; `scale` is η̃₀ = ε²/(c₂² L² ln(1/δ)) > 0."""
    eta = _validate.positive("scale", scale)
    length = float(_validate.whole(1, steps=steps))
    sampling = 2.0 / 3.0 * _sampling(n, batch_size, gradient_variance) / length
    return np.asarray(sampling + 1.0 / (3.0 * eta) + 2.0 * eta**2 * length ** (-2.0 / 3.0))

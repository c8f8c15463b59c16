"""Published bounds on the step sizes of private Langevin dynamics, their constants, and where they hold.

Li, Chen, Liu, Carin 2019, Theorem 3 (η_t = η₁ t^(−1/3)): Algorithm 1 is (ε, δ)-DP, for ε < c₁ q² T^(2/3), when
    (1) η_t ≤ N/L²,   (2) η_t > q² N/(256 L²),   (3) η_t < ε² N t^(−1/3)/(c₂² L² T^(2/3) ln(1/δ)).
(1) and (2) are σ_t ≥ 1 and q < 1/(16 σ_t) of the moment bound (their Lemma 2). As η_t = q² N/(σ_t² L²), they read
    (1) η_t ≤ q² N/L²,   (2) η_t > 256 q⁴ N/L²:
App. A loses a q² on the way. (3) is unharmed, for its q cancels. Both readings are offered, "rederived" and "printed".

The constants depend on (N, T, ε, δ, L, q): they are what the largest step size, found by composing, makes of (3).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike
from dpviz.accounting.langevin.cost import Langevin
from dpviz.accounting.langevin.step_sizes import EXPONENTS, READINGS, THEOREMS, composed_step_size


def langevin_step_size(
    theorem: str,
    *,
    epsilon: ArrayLike,
    delta: float,
    n: float,
    steps: int,
    clip: float,
    batch_size: float | None = None,
    conversion: str = "classic",
    friction: float | None = None,
    adjacency: str = "add_remove",
    noise: str = "algorithm1",
    refine: bool = True,
) -> float | Array:
    """The largest step size that the theorem proves to give (ε, δ).

    What its steps really cost, often far less, `langevin_epsilon` says.

    Args:
        theorem: "theorem3" (the first of η₁ t^(−1/3)) or "theorem4" (fixed), with the constant that composing whole
            moments gives; "wang" (Wang, Fienberg, Smola 2015, as printed by Li et al.), which holds up to
            `wang_largest_epsilon`, or "wang_as_plotted", with ln(T/δ) for ln(2.5 T/δ), which is what Li et al.'s
            1.54e-6 is: drawn to compare with, no theorem's bound.
        epsilon: ε > 0, any shape.
        delta: δ in (0, 1).
        n, clip, batch_size, friction, adjacency, noise: see `Langevin`; the Wang bounds know no friction, and take
            every example in each step if `batch_size` is left out. Twice the noise's variance allows twice the step.
        steps: T ≥ 1.
        conversion: "classic", as the paper's accountant, or "improved".
        refine: come within 0.1 % of the largest step size; without it the answer is quick, and up to 5 % too small
            where ε exceeds 1, up to 15 % where one example is replaced.

    Raises:
        ValueError: for arguments out of range, and for an ε at which the condition of Wang et al. fails.

    >>> round(langevin_step_size("wang", epsilon=0.1, delta=1e-5, n=50_000, steps=10_000, clip=1) * 1e6, 3)
    1.479
    """
    _validate.choice("theorem", theorem, THEOREMS)
    targets = _validate.positive("epsilon", epsilon)
    target_delta = _validate.number(delta=delta)
    count = _validate.whole(1, steps=steps)
    if theorem.startswith("wang"):
        if friction is not None:
            raise ValueError(
                f"Expected friction={friction} to be left out: Wang, Fienberg, Smola 2015 bound only SGLD."
            )
        setting = Langevin(n, n if batch_size is None else batch_size, clip, None, adjacency, noise)
        sizes = _wang(theorem, targets, target_delta, setting, count)
    else:
        if batch_size is None:
            raise ValueError(f"Expected batch_size with {theorem!r}: the constant depends on it.")
        setting = Langevin(n, batch_size, clip, friction, adjacency, noise)
        plan = {"delta": target_delta, "exponent": EXPONENTS[theorem], "steps": count, "conversion": conversion}
        sizes, _ = composed_step_size(setting, epsilon=targets, refine=refine, **plan)
    return float(sizes) if sizes.ndim == 0 else sizes


def _wang(theorem: str, epsilon: Array, delta: float, setting: Langevin, steps: int) -> Array:
    largest = wang_largest_epsilon(sample_rate=setting.sample_rate, steps=steps, delta=delta)
    if (epsilon > largest).any():
        raise ValueError(
            f"Expected epsilon={epsilon.max():.12g} <= {largest:.6g}: beyond it the theorem of Wang, Fienberg, Smola "
            "2015 does not hold, for it needs T ≥ ε²/(32 q² ln(2/δ)). Take a larger batch or more steps, or another "
            "theorem."
        )
    inside = 2.5 * steps / delta if theorem == "wang" else steps / delta
    below = 128.0 * setting.sensitivity**2 * steps * math.log(inside) * math.log(2.0 / delta)
    return np.asarray(epsilon**2 * setting.n * setting.heat / below)


def wang_largest_epsilon(*, sample_rate: float, steps: float, delta: float) -> float:
    """The largest ε of Wang, Fienberg, Smola 2015: T ≥ ε²/(32 q² ln(2/δ)) for T steps.

    They count T in passes over the data, each of 1/q steps: passes ≥ ε² N/(32 τ ln(2/δ)).

    >>> round(wang_largest_epsilon(sample_rate=1e-4, steps=100, delta=1e-6), 4)
    0.0215
    """
    return sample_rate * math.sqrt(32.0 * steps * math.log(2.0 / delta))


@dataclass(frozen=True, slots=True)
class LangevinConstants:
    """What composing makes of the theorems' constants; each of the shape of ε.

    Attributes:
        step_size: the largest η₁ (or η).
        c_squared: c₂² of Theorem 3, or c² of Theorem 4: ε² N/(η L² T^(1−p) ln(1/δ)).
        c1: ε/(q² T^(1−p)): the theorem needs a c₁ above it.
        order: λ + 1 that decided.
    """

    step_size: Array
    c_squared: Array
    c1: Array
    order: Array


def langevin_constants(
    setting: Langevin, *, epsilon: ArrayLike, delta: float, exponent: float, steps: int, **how: Any
) -> LangevinConstants:
    """c₂² (exponent 1/3) or c² (exponent 0) and c₁ where composed moments give (ε, δ) exactly.

    `how` (conversion, refine) as in `composed_step_size`.
    """
    targets = _validate.positive("epsilon", epsilon)
    sizes, order = composed_step_size(setting, epsilon=targets, delta=delta, exponent=exponent, steps=steps, **how)
    length = float(steps) ** (1.0 - exponent)
    with np.errstate(divide="ignore"):
        c_squared = targets**2 * setting.n / (sizes * setting.clip**2 * length * -math.log(delta))
    return LangevinConstants(sizes, c_squared, targets / (setting.sample_rate**2 * length), order)


def step_size_limits(setting: Langevin, reading: str = "rederived") -> tuple[float, float]:
    """Conditions (1) and (2) of Theorem 3: η_t must lie above the first number and not above the second.

    As re-derived they are q < 1/(16 σ_t) and σ_t ≥ 1 for the setting's own σ_t, noise and friction included;
    "printed" gives q² N/(256 L²) and N/L².

    >>> step_size_limits(Langevin(n=60_000, batch_size=60_000**0.5, clip=4))[1]   # Table 1's MNIST takes 0.1
    0.0625...
    """
    _validate.choice("reading", reading, READINGS)
    if reading == "printed":
        top = setting.n / setting.clip**2
        return setting.sample_rate**2 * top / 256.0, top
    return 256.0 * setting.sample_rate**2 / setting.cost, 1.0 / setting.cost

"""Li, Chen, Liu, Carin 2019: step sizes, Table 1, Figures 1 to 3 and its appendix."""

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from dpviz import library as dpviz
from dpviz.accounting.langevin.cost import Langevin, langevin_tight
from dpviz.accounting.langevin.step_sizes import step_size_limits
from dpviz.accounting.schedules import power_sums
from dpviz.fields import numbers
from dpviz.questions.printed.claim import Recomputed, tight

THIRD = 1.0 / 3.0
WHOLE = tuple(range(2, 513))
SECTION_3_1: dict[str, Any] = {"n": 50_000, "clip": 1.0, "delta": 1e-5}
STEPS_3_1 = 10_000


def section_3_1() -> Recomputed:
    """ε of η_t = 0.103 t^(−1/3)."""
    schedule, batch = dpviz.PowerSchedule(0.103, THIRD, STEPS_3_1), math.sqrt(SECTION_3_1["n"])
    classic = dpviz.langevin_epsilon(schedule, batch_size=batch, conversion="classic", orders=WHOLE, **SECTION_3_1)
    interval = langevin_tight(Langevin(SECTION_3_1["n"], batch, SECTION_3_1["clip"]), schedule, 1e-5, 40)
    return tight(interval, float(classic), "value: classic conversion; interval: numerical (PLD)")


def tight_step() -> float:
    """The largest η₁ for ε = 0.1, counted tightly at q = 1: one Gaussian with μ² = Σ η_t L²/N."""

    def over(mu: float) -> float:
        return float(norm.cdf(mu / 2.0 - 0.1 / mu) - math.exp(0.1) * norm.cdf(-mu / 2.0 - 0.1 / mu)) - 1e-5

    total = float(power_sums(np.ones(1), np.array([float(STEPS_3_1)]), THIRD)[0])
    return brentq(over, 1e-3, 1.0) ** 2 * SECTION_3_1["n"] / total  # type: ignore[no-any-return]


def largest_step() -> Recomputed:
    """The largest η₁ for ε = 0.1."""
    setting = SECTION_3_1 | {"steps": STEPS_3_1, "batch_size": math.sqrt(SECTION_3_1["n"])}
    largest = dpviz.langevin_step_size("theorem3", epsilon=0.1, **setting)
    tightly = numbers.plain(tight_step(), digits=2)
    note = f"largest η₁, classic conversion; exact value at q = 1: {tightly}"
    return Recomputed(float(largest), note=note)


def wang() -> Recomputed:
    """The bound of Wang et al. as its formula is printed."""
    printed, plotted = (
        float(dpviz.langevin_step_size(theorem, epsilon=0.1, steps=STEPS_3_1, **SECTION_3_1))
        for theorem in ("wang", "wang_as_plotted")
    )
    return Recomputed(printed, note=f"with ln(T/δ) instead of ln(2.5T/δ): {plotted:.3g}")


def mnist() -> Recomputed:
    """One epoch of Table 1's MNIST, its least."""
    schedule = dpviz.PowerSchedule(0.1, THIRD, 245)
    setting: dict[str, Any] = {"n": 60_000, "batch_size": 245, "clip": 4, "delta": 1e-5}
    classic = dpviz.langevin_epsilon(schedule, conversion="classic", orders=WHOLE, **setting)
    one, epoch = (
        langevin_tight(Langevin(60_000, 245, 4), steps, 1e-5, 20)
        for steps in (dpviz.PowerSchedule(0.1, THIRD, 1), schedule)
    )
    alone = numbers.plain(numbers.down(one[0], 2), digits=2)
    note = f"after one epoch; value: classic conversion; interval: numerical (PLD); one step alone costs ≥ {alone}"
    return tight(epoch, float(classic), note)


def mnist_sghmc() -> Recomputed:
    """One epoch of Table 1's MNIST with the steps of DP-SGLD and β = 0.1: the friction is not given."""
    schedule = dpviz.PowerSchedule(0.1, THIRD, 245)
    bound = dpviz.langevin_epsilon(schedule, n=60_000, batch_size=245, clip=4, delta=1e-5, friction=0.1)
    interval = langevin_tight(Langevin(60_000, 245, 4, 0.1), schedule, 1e-5, 20)
    return tight(interval, float(bound), "after one epoch; value: Rényi DP; interval: numerical (PLD)")


def svhn(epochs: int, friction: float | None = None) -> Recomputed:
    """Epochs of Table 1's SVHN."""
    schedule = dpviz.PowerSchedule(0.1, THIRD, round(epochs * 604_388 / 777))
    bound = dpviz.langevin_epsilon(schedule, n=604_388, batch_size=777, clip=1, delta=1e-6, friction=friction)
    return Recomputed(float(bound), note=f"upper bound after {epochs} epochs")


def size(epsilon: float = 0.1, n: float = 1e4, clip: float = 1.0) -> float:
    """The largest step size under the rule of Fig. 2, τ = √N, T = N, δ = 1/N."""
    rule: dict[str, Any] = {"delta": 1.0 / n, "n": n, "steps": int(n), "batch_size": math.sqrt(n)}
    return float(dpviz.langevin_step_size("theorem3", epsilon=epsilon, clip=clip, refine=False, **rule))


def against_n() -> Recomputed:
    """How many times larger the step size is at 10⁶ than at 10³, at ε = 0.1 and at others."""
    growth = {epsilon: size(epsilon, n=1e6) / size(epsilon, n=1e3) for epsilon in (0.1, 0.5, 1.0, 1.7)}
    others = ", ".join(f"{growth[epsilon]:.1f} at {epsilon:g}" for epsilon in (0.5, 1.0, 1.7))
    return Recomputed(growth[0.1], note=f"times as large at N = 1e6 as at 1e3, for ε = 0.1; {others}")


def against_clip() -> Recomputed:
    """The power of L that the step size goes with."""
    grown = size(clip=10.0) / size(clip=0.1)
    return Recomputed(math.log(grown) / math.log(100.0), note="power of L, from L = 0.1 to 10")


def condition_1() -> Recomputed:
    """Condition (1) as re-derived, for Table 1's MNIST, beside the printed one."""
    setting = Langevin(60_000, 245, 4)
    (_, rederived), (_, printed) = (step_size_limits(setting, reading) for reading in ("rederived", "printed"))
    return Recomputed(rederived, note=f"q²N/L²; N/L² is {printed:.4g}; the first step size is 0.1")


def spread() -> Recomputed:
    """T Σ η_t²/(Σ η_t)² for η_t = t^(−1/3), T = 10⁶: 2/3 is printed."""
    first, last = np.ones(1), np.array([1e6])
    total, squares = float(power_sums(first, last, THIRD)[0]), float(power_sums(first, last, 2.0 * THIRD)[0])
    return Recomputed(1e6 * squares / total**2, note="T Σ η_t²/(Σ η_t)² at T = 1e6; it tends to 4/3")


def pate(queries: int, delta: float) -> Recomputed:
    """What so many answers under Laplace noise of scale 20 cost at most (Papernot et al. 2017)."""
    most = float(dpviz.pate_epsilon(queries, delta=delta, noise_scale=20.0))
    return Recomputed(numbers.up(most, 4), note="upper bound for any votes")

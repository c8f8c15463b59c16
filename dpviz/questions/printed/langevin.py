"""Li, Chen, Liu, Carin 2019: step sizes, Table 1, Figures 1 to 3 and its appendix."""

import math
from typing import Literal

import numpy as np
from scipy.optimize import brentq

from dpviz import library as dpviz
from dpviz.accounting.langevin.cost import NOISES, Langevin, langevin_tight
from dpviz.accounting.langevin.published_bounds import step_size_limits
from dpviz.accounting.methods import Renyi
from dpviz.accounting.schedules import power_sums
from dpviz.fields import numbers
from dpviz.questions.printed.claim import Recomputed, tight

Noise = Literal["algorithm1", "sgld"]
THIRD = 1.0 / 3.0
WHOLE = tuple(range(2, 513))
# Section 3.1.
N_3_1, STEPS_3_1, CLIP_3_1, DELTA_3_1 = 50_000, 10_000, 1.0, 1e-5
BATCH_3_1 = math.sqrt(N_3_1)


def interval_3_1(first: float, noise: Noise) -> tuple[float, float]:
    """Between which ends the numerical ε of η_t = `first` t^(−1/3) lies."""
    setting = Langevin(N_3_1, BATCH_3_1, CLIP_3_1, noise=noise)
    return langevin_tight(setting, dpviz.PowerSchedule(first, THIRD, STEPS_3_1), DELTA_3_1, 100)


def section_3_1(noise: Noise = "algorithm1") -> Recomputed:
    """ε of η_t = 0.103 t^(−1/3)."""
    schedule = dpviz.PowerSchedule(0.103, THIRD, STEPS_3_1)
    classic = dpviz.langevin_epsilon(
        schedule,
        n=N_3_1,
        batch_size=BATCH_3_1,
        clip=CLIP_3_1,
        delta=DELTA_3_1,
        conversion="classic",
        orders=WHOLE,
        noise=noise,
    )
    interval = interval_3_1(0.103, noise)
    return tight(interval, float(classic), "value: classic conversion; interval: PLD")


def largest_step(noise: Noise = "algorithm1") -> Recomputed:
    """The largest η₁ for ε = 0.1."""
    largest = dpviz.langevin_step_size(
        "theorem3",
        epsilon=0.1,
        delta=DELTA_3_1,
        steps=STEPS_3_1,
        n=N_3_1,
        batch_size=BATCH_3_1,
        clip=CLIP_3_1,
        noise=noise,
    )
    low, high = (
        brentq(lambda first, end=end: interval_3_1(first, noise)[end] - 0.1, 0.03, 0.3, xtol=1e-5) for end in (1, 0)
    )  # the first step size at which the upper end reaches 0.1, and the lower one
    note = "value: largest η₁ by the classic conversion; interval: by the PLD accountant"
    return Recomputed(float(largest), low, high, note)


def posterior_share(step_size: float = 0.05) -> Recomputed:
    """The variance of Algorithm 1's chain ÷ that of a normal posterior of variance 1/N, at a fixed step size.

    θ ← (1 − η) θ + N(0, h η/N) comes to rest at the variance h η/N ÷ (1 − (1 − η)²).
    """
    printed, sgld = (heat * step_size / (1.0 - (1.0 - step_size) ** 2) for heat in NOISES.values())
    note = f"share of a normal posterior's variance at η = {step_size:g}; with N(0, 2ηₜ/N) it is {sgld:.3f}"
    return Recomputed(printed, note=note)


def wang() -> Recomputed:
    """The bound of Wang et al. as its formula is printed."""
    printed, plotted = (
        dpviz.langevin_step_size(theorem, epsilon=0.1, delta=DELTA_3_1, steps=STEPS_3_1, n=N_3_1, clip=CLIP_3_1)
        for theorem in ("wang", "wang_as_plotted")
    )
    return Recomputed(float(printed), note=f"with ln(T/δ) instead of ln(2.5T/δ): {plotted:.3g}")


def mnist() -> Recomputed:
    """One epoch of Table 1's MNIST, its least."""
    schedule = dpviz.PowerSchedule(0.1, THIRD, 245)
    classic = dpviz.langevin_epsilon(
        schedule, n=60_000, batch_size=245, clip=4, delta=1e-5, conversion="classic", orders=WHOLE
    )
    one, epoch = (
        langevin_tight(Langevin(60_000, 245, 4), steps, 1e-5, 20)
        for steps in (dpviz.PowerSchedule(0.1, THIRD, 1), schedule)
    )
    alone = numbers.plain(numbers.rounded_down(one[0], 2), digits=2)
    note = f"after one epoch; value: classic conversion; interval: PLD; one step alone costs ≥ {alone}"
    return tight(epoch, float(classic), note)


def mnist_sghmc() -> Recomputed:
    """One epoch of Table 1's MNIST with the steps of DP-SGLD and β = 0.1: the friction is not given."""
    schedule = dpviz.PowerSchedule(0.1, THIRD, 245)
    bound = dpviz.langevin_epsilon(schedule, n=60_000, batch_size=245, clip=4, delta=1e-5, friction=0.1)
    interval = langevin_tight(Langevin(60_000, 245, 4, 0.1), schedule, 1e-5, 20)
    return tight(interval, float(bound), "after one epoch; value: Rényi DP; interval: PLD")


def svhn(epochs: int, friction: float | None = None) -> Recomputed:
    """Epochs of Table 1's SVHN."""
    schedule = dpviz.PowerSchedule(0.1, THIRD, round(epochs * 604_388 / 777))
    bound = dpviz.langevin_epsilon(schedule, n=604_388, batch_size=777, clip=1, delta=1e-6, friction=friction)
    return Recomputed(float(bound), note=f"upper bound after {epochs} epochs")


def size(epsilon: float = 0.1, n: float = 1e4, clip: float = 1.0) -> float:
    """The largest step size under the rule of Fig. 2, τ = √N, T = N, δ = 1/N."""
    largest = dpviz.langevin_step_size(
        "theorem3",
        epsilon=epsilon,
        delta=1.0 / n,
        steps=int(n),
        n=n,
        batch_size=math.sqrt(n),
        clip=clip,
        refine=False,
    )
    return float(largest)


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


def condition_2() -> Recomputed:
    """The last step at which Table 1's SVHN keeps condition (2) as printed; beside it as re-derived."""
    setting = Langevin(604_388, math.sqrt(604_388), 1.0)
    printed, derived = (
        math.ceil((0.1 / step_size_limits(setting, way)[0]) ** 3) - 1 for way in ("printed", "rederived")
    )
    return Recomputed(float(printed), note=f"step; re-derived: {numbers.plain(derived)}")


def spread() -> Recomputed:
    """T Σ η_t²/(Σ η_t)² for η_t = t^(−1/3), T = 10⁶: 2/3 is printed."""
    first, last = np.ones(1), np.array([1e6])
    total, squares = float(power_sums(first, last, THIRD)[0]), float(power_sums(first, last, 2.0 * THIRD)[0])
    return Recomputed(1e6 * squares / total**2, note="T Σ η_t²/(Σ η_t)² at T = 1e6; it tends to 4/3")


def pate(queries: int, delta: float) -> Recomputed:
    """What so many answers under Laplace noise of scale 20 cost at most (Papernot et al. 2017)."""
    most = float(dpviz.pate.pate_epsilon(queries, delta=delta, method=Renyi.name, noise_scale=20.0))
    return Recomputed(numbers.rounded_up(most, 4), note="upper bound for any votes")

"""Abadi et al. 2016, and a lecture's slides about it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

import dpviz
from dpviz.accounting.pld.bounds import tight_delta, tight_epsilon
from dpviz.charts import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.printed.claim import Figure, Paper, Printed, Recomputed, tight

PAPER = Paper("abadi", "Abadi et al. 2016", "Deep Learning with Differential Privacy")
SLIDES = Paper("slides", "Park, lecture slides", "Trustworthy Machine Learning: Differential Privacy 2")
SETTING: dict[str, Any] = {"noise_multiplier": 4.0, "sample_rate": 0.01}
DELTA = 1e-5
FIGURE_2 = "compose?preset=abadi2"
EXACT = f"{FIGURE_2}&amp=exact"


def moments(steps: int) -> Recomputed:
    """The moments accountant, the same with λ that need not be whole, and the tight interval."""
    found = tight_epsilon(SampledGaussian(**SETTING), steps, DELTA)
    known: dict[str, Any] = {"steps": steps, "delta": DELTA, **SETTING}
    between = dpviz.epsilon("renyi", conversion="classic", orders=np.arange(1.05, 33.0, 0.01), **known)
    said = f"with λ that need not be whole {float(between):.5g}"
    return tight((found.lower, found.upper), float(dpviz.epsilon("moments", **known)), said)


def strong(steps: int) -> Recomputed:
    """Strong composition with one step's ε₀ scaled by q."""
    linear, exact = (
        float(dpviz.epsilon("strong", steps=steps, delta=DELTA, amplification=rule, **SETTING))
        for rule in ("linear", "exact")
    )
    squared = strong_squared(steps)
    return Recomputed(linear, said=f"with Tε² for Tε(e^ε − 1) {squared:.5g}; with the exact rule {exact:.4g}")


def strong_squared(steps: int) -> float:
    """ε√(2T ln(1/δ′)) + Tε² with ε = qε₀ and the best split of δ."""
    sigma, rate = SETTING["noise_multiplier"], SETTING["sample_rate"]

    def epsilon(share: float) -> float:
        one = rate * math.sqrt(2.0 * math.log(1.25 * steps * rate / (share * DELTA))) / sigma
        return float(one * math.sqrt(-2.0 * steps * math.log((1.0 - share) * DELTA)) + steps * one**2)

    return float(minimize_scalar(epsilon, bounds=(1e-4, 1.0 - 1e-4), method="bounded").fun)


def amplification() -> Recomputed:
    """ln(1 + q(e^ε₀ − 1)) beside qε₀, at the ε₀ of one step of Fig. 2 after 10 000 steps."""
    each = DELTA / (2.0 * 10_000 * SETTING["sample_rate"])
    one = math.sqrt(2.0 * math.log(1.25 / each)) / SETTING["noise_multiplier"]
    exact = math.log1p(SETTING["sample_rate"] * math.expm1(one))
    least = float(tight_delta(SampledGaussian(**SETTING), 1, SETTING["sample_rate"] * one).lower)
    said = f"times qε₀, at ε₀ = {one:.3g}; at qε₀ one sampled step has δ ≥ {numbers.plain(numbers.down(least, 2))}, "
    return Recomputed(
        exact / (SETTING["sample_rate"] * one), said=f"{said}and qδ₀ is {SETTING['sample_rate'] * each:.2g}"
    )


def first_moment() -> Recomputed:
    """ln E[ℓ] of one step, what the slide's formula says for every λ."""
    sigma, rate = SETTING["noise_multiplier"], SETTING["sample_rate"]
    z = np.linspace(-12.0 * sigma, 12.0 * sigma + 1.0, 40_001)
    base = np.exp(-0.5 * (z / sigma) ** 2) / (sigma * math.sqrt(2.0 * math.pi))
    loss = np.log1p(rate * np.expm1((2.0 * z - 1.0) / (2.0 * sigma**2)))
    mean = float(np.trapezoid(base * np.exp(loss) * loss, z))
    return Recomputed(math.log(mean), said="ln E ℓ at every λ; a log moment cannot be below 0")


def _fig2(key: str, steps: int, printed: str, verdict: str, why: str, *, of_moments: bool) -> Printed:
    ma = "moments accountant, λ ≤ 32, tail bound; add or remove one, Poisson sampling. Interval: numerically tight"
    rule = "strong composition, ε₀ = √(2 ln(1.25/δ₀))/σ scaled to qε₀, best split of δ"
    return Printed(
        key=f"abadi-{key}",
        paper=PAPER.key,
        where="Fig. 2",
        what=f"ε after {steps // 100} epochs, {'moments' if of_moments else 'strong'}",
        printed=printed,
        how=ma if of_moments else rule,
        verdict=verdict,
        why=why,
        link=FIGURE_2 if of_moments else EXACT,
        recompute=(lambda: moments(steps)) if of_moments else (lambda: strong(steps)),
    )


_INFERRED = (
    "The paper does not print its rule. An inference: one step's ε₀ scaled to qε₀ comes within a fifth of a percent, "
    "whichever way the last term is written. qε₀ is no bound here; with the exact rule strong composition gives a "
    "larger ε, a weaker statement. The mechanism itself stays far below all of them."
)
CLAIMS = (
    _fig2("moments-100", 10_000, "1.26", "holds", "λ = 19 decides.", of_moments=True),
    _fig2(
        "moments-400",
        40_000,
        "2.55",
        "differs",
        "The moments accountant gives 1 % more than printed (λ = 9 decides), and λ between whole numbers does not "
        "explain it. (2.55, 1e-5) itself is true: the tight interval lies below it.",
        of_moments=True,
    ),
    _fig2("strong-100", 10_000, "9.34", "differs", _INFERRED, of_moments=False),
    _fig2("strong-400", 40_000, "24.22", "differs", _INFERRED, of_moments=False),
    Printed(
        key="abadi-linear",
        paper=PAPER.key,
        where="§3.1",
        what="one sampled step of an (ε, δ) mechanism, ε ≤ 1",
        printed="(O(qε), qδ)",
        how="ln(1 + q(e^ε₀ − 1)), which holds for every (ε₀, δ₀) mechanism, at the ε₀ of Fig. 2; numerically tight δ",
        verdict="under",
        why="Printed for ε ≤ 1 and with a constant inside O(·). The steps of Fig. 2 have a larger ε₀, and there qε₀ "
        "without a constant is no bound: one step's δ at qε₀ is over 200 times qδ₀.",
        link=EXACT,
        recompute=amplification,
        kind="erratum",
    ),
    Printed(
        key="abadi-slide-exp",
        paper=SLIDES.key,
        where="slide “Measuring DP: Moments”",
        what="α(λ) = ln E ℓ",
        printed="exp missing",
        how="α(λ) = ln E exp(λℓ) as in the paper; here σ = 4, q = 0.01, one step",
        verdict="misprint",
        why="A slip of the slides, not of the paper: λ does not occur and the value is negative. The later slides have "
        "ln E exp(λℓ).",
        link="orders?oview=divergence&sigma=4&q=0.01",
        recompute=first_moment,
        kind="erratum",
    ),
    Printed(
        key="abadi-slide-c1",
        paper=SLIDES.key,
        where="slide “Main Theorem”",
        what="range of the theorem, ε < c₂q²T",
        printed="c₂ for c₁",
        how="Theorem 1 of the paper",
        verdict="misprint",
        why="A slip of the slides. The paper's theorem has two constants: it holds for ε < c₁q²T, and asks for "
        "σ ≥ c₂ q√(T ln(1/δ))/ε.",
        link="papers?pview=theorem1",
        kind="erratum",
    ),
)
FIGURES = (
    Figure(
        "abadi-fig2",
        PAPER.key,
        "Fig. 2",
        "moments accountant against strong composition",
        FIGURE_2,
        "Printed values as diamonds; “Exact” under Show replaces the linear rule, which is no bound here.",
    ),
    Figure(
        "abadi-orders",
        PAPER.key,
        "Fig. 2",
        "the order behind 1.26",
        "orders?preset=abadi2orders",
        "λ = 19 decides; the slide's “λ ≤ 32” is enough here.",
    ),
    Figure(
        "abadi-theorem1",
        PAPER.key,
        "Theorem 1",
        "noise that the main theorem asks for",
        "papers?pview=theorem1",
        "σ against T beside c₂q√(T ln(1/δ))/ε, and the further logarithm of standard composition.",
    ),
    Figure(
        "abadi-tail",
        PAPER.key,
        "Theorem 2",
        "from moments to δ",
        "papers?pview=tail",
        "δ = min over λ of exp(α(λ) − λε): one line for each λ, their lowest point, and the tight δ.",
    ),
    Figure(
        "abadi-loss",
        SLIDES.key,
        "slide “Measuring DP: Privacy Loss”",
        "the privacy loss and its tail",
        "papers?pview=loss",
        "Its density after one step or T, the tail beyond ε, and what of it δ counts, in both directions.",
    ),
    Figure(
        "abadi-clipping",
        PAPER.key,
        "§3.1, slide “Norm Clipping”",
        "what clipping keeps, against the noise it asks for",
        "papers?pview=clipping",
        "Error of an averaged gradient against C for families of norms; without clipping no noise is enough.",
    ),
    Figure(
        "abadi-toy",
        SLIDES.key,
        "slide “A Toy Example”",
        "was Bob in the training data?",
        "papers?pview=bob",
        "What two answers of a model say about one person, and how far ε allows them to be apart.",
    ),
)

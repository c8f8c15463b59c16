"""Mironov, Talwar, Zhang 2019: no ε is printed; its theorem and its comparison are."""

from __future__ import annotations

from typing import Any

import numpy as np

import dpviz
from dpviz.questions.printed.claim import Figure, Paper, Printed, Recomputed

PAPER = Paper("sgm", "Mironov, Talwar, Zhang 2019", "Rényi Differential Privacy of the Sampled Gaussian Mechanism")
ORDERS = np.geomspace(1.01, 500.0, 400)


def theorem_11() -> Recomputed:
    """The closed form ÷ the exact divergence where the theorem's conditions hold."""
    least, most = np.inf, 0.0
    for sigma in (4.0, 8.0, 20.0):
        for rate in (0.001, 0.01, 0.1, 0.2):
            known: dict[str, Any] = {"noise_multiplier": sigma, "sample_rate": rate, "orders": ORDERS}
            ratio = dpviz.closed_form_divergence(**known) / np.asarray(dpviz.renyi_divergence(**known))
            if np.isfinite(ratio).any():
                least, most = min(least, float(np.nanmin(ratio))), max(most, float(np.nanmax(ratio)))
    return Recomputed(np.nan, least, most, "closed form ÷ exact, over σ 4 to 20, q 0.001 to 0.2 and all orders covered")


def theorem_5() -> Recomputed:
    """The largest ln B_α − ln A_α over a grid, by quadrature: no more than 0."""
    worst = -np.inf
    for sigma in (0.7, 1.0, 4.0):
        z = np.linspace(-40.0 * sigma, 40.0 * sigma + 1.0, 20_001)
        log_base = -0.5 * (z / sigma) ** 2
        for rate in (0.01, 0.2, 0.7):
            loss = np.log1p(rate * np.expm1(np.minimum((2.0 * z - 1.0) / (2.0 * sigma**2), 600.0)))
            for order in (1.5, 2.0, 8.0):
                a, b = (np.logaddexp.reduce(log_base + power * loss) for power in (order, 1.0 - order))
                worst = max(worst, float(b - a))
    return Recomputed(worst, said="largest ln B_α − ln A_α found")


def plateau() -> Recomputed:
    """R(α)/α at α = 200 ÷ at α = 2, for σ = 4 and q = 0.01: ρ-zCDP would keep it."""
    found = np.asarray(dpviz.renyi_divergence(noise_multiplier=4.0, sample_rate=0.01, orders=[2.0, 200.0]))
    return Recomputed(float(found[1] / 200.0 / (found[0] / 2.0)), said="R(α)/α at α = 200 ÷ at α = 2")


CLAIMS = (
    Printed(
        key="sgm-theorem11",
        paper=PAPER.key,
        where="Theorem 11, Fig. 1",
        what="R(α) ≤ 2q²α/σ²",
        printed="upper bound",
        how="exact R(α) by quadrature, add or remove one",
        verdict="holds",
        why="Wherever its conditions hold the closed form lies above the exact value, about four times as high.",
        link="papers?pview=sgm1",
        recompute=theorem_11,
        kind="erratum",
    ),
    Printed(
        key="sgm-theorem5",
        paper=PAPER.key,
        where="Theorem 5",
        what="A_α ≥ B_α for all α ≥ 1",
        printed="A ≥ B",
        how="both integrals on a grid of z, for σ 0.7 to 4, q 0.01 to 0.7, α 1.5 to 8",
        verdict="holds",
        why="So one direction of adjacency decides, and only A_α need be computed.",
        link="papers?pview=theorem5",
        recompute=theorem_5,
        kind="erratum",
    ),
    Printed(
        key="sgm-zcdp",
        paper=PAPER.key,
        where="§4",
        what="the sampled Gaussian is not zCDP",
        printed="not zCDP",
        how="R(α)/α at σ = 4, q = 0.01",
        verdict="under",
        why="R(α)/α leaves its plateau at large α, so no ρ near its value at small α holds at all orders. It is "
        "1/(2σ²)-zCDP, as without sampling: what is not there is a gain from q.",
        link="orders?oview=concentrated&sigma=4&q=0.01",
        recompute=plateau,
        kind="erratum",
    ),
)
FIGURES = (
    Figure(
        "sgm-fig1",
        PAPER.key,
        "Fig. 1",
        "closed form against exact, several σ and q",
        "papers?pview=sgm1",
        "R(α) exact and by Theorem 11 for three σ at a q of your choice; Theorem 11 ends where its conditions do.",
    ),
    Figure(
        "sgm-table1",
        PAPER.key,
        "Table 1",
        "known bounds on the sampled Gaussian",
        "orders?preset=sgm1",
        "“Known bounds” below the chart, each with its sampling and its neighbours. Bounds for other sampling have no "
        "number: theirs is another mechanism.",
    ),
    Figure(
        "sgm-notions",
        PAPER.key,
        "§4",
        "zCDP, tCDP and the sampled Gaussian",
        "orders?oview=concentrated",
        "R(α)/α, where it leaves its plateau, the ρ and ω of tCDP, and the μ of (μ, τ)-CDP.",
    ),
)

"""Mironov, Talwar, Zhang 2019: Fig. 1, closed form against exact divergence; Theorem 5, A_α ≥ B_α."""

import math
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.accounting.methods import Renyi
from dpviz.accounting.renyi.closed_form import both_directions
from dpviz.charts import look
from dpviz.fields import choice, numbers
from dpviz.mechanisms import Laplace, SampledGaussian
from dpviz.questions import RATE, SIZE, Answer, Facts, InUnits, chart, kinds, make_question

# --- Fig. 1: the closed form against the exact divergence, for several σ ----------------------------------------------

ORDERS = np.unique(np.concatenate([1.0 + np.geomspace(0.05, 1e3, 160), np.arange(2.0, 65.0)]))
COLORS = (look.BLUE, look.GREEN, look.ORANGE)


def closed_form(*, sample_rate: float, first: float, second: float, third: float) -> Answer[Facts]:
    """R(α) exact and by the closed form, a pair of curves for each distinct σ."""
    if sample_rate == 0.0:
        raise ValueError("With q = 0, no example is used and every R(α) is 0: choose a sampling rate above 0.")
    curves: dict[str, Any] = {}
    compared = []
    for sigma, color in zip(dict.fromkeys((first, second, third)), COLORS, strict=False):
        setting: dict[str, Any] = {"noise_multiplier": sigma, "sample_rate": sample_rate, "orders": ORDERS}
        exact = np.asarray(dpviz.renyi_divergence(**setting))
        closed = dpviz.closed_form_divergence(**setting)
        name = f"σ = {numbers.plain(sigma)}"
        of_theorem = {"name": f"{name}, Theorem 11", "y": closed, "kept": False, "explained": True}
        curves[f"exact {sigma:g}"] = {"name": name, "y": exact, "family": Renyi().family, "color": color}
        curves[f"closed {sigma:g}"] = of_theorem | {"family": Renyi("classic").family, "color": color}
        compared.append(ratios(name, exact, closed))
    shown = decent([curve["y"] for curve in curves.values()])
    plot = chart("papers/sampled", "sgm_figure1", ORDERS, curves, y_axis={"shown": shown})
    covered = [one for one in compared if one.last]
    facts = Facts(
        each=compared,
        least=min((each.least for each in covered), default=None),
        most=max((each.most for each in covered), default=None),
        covered=", ".join(f"{each.name} up to <b>α = {numbers.plain(each.last)}</b>" for each in covered),
    )
    return Answer(plot, facts)


def ratios(name: str, exact: Array, closed: Array) -> Facts:
    """The largest α that the theorem covers at one σ, 0 for none, and the range of closed form ÷ exact up to there."""
    holds = np.isfinite(closed) & (exact > 0.0)
    if not holds.any():
        return Facts(name=name, last=0.0, reach="not covered", ratio="Theorem 11")
    ratio = closed[holds] / exact[holds]
    last, least, most = float(ORDERS[holds][-1]), float(ratio.min()), float(ratio.max())
    span = f"{numbers.plain(least)} to {numbers.plain(most)} × exact"
    return Facts(name=name, last=last, least=least, most=most, reach=f"α ≤ {numbers.plain(last)}", ratio=span)


def decent(curves: list[Array]) -> tuple[float, float] | None:
    """Six decades from the least value on: exact curves go far up where sampling stops helping."""
    values = np.concatenate(curves)
    values = values[np.isfinite(values) & (values > 0.0)]
    if not values.size:
        return None
    low = max(float(values.min()), 1e-300)
    return low / 2.0, min(max(float(values.max()), 20.0 * low), 1e6 * low)


SAMPLED_FIGURE_1 = make_question(
    "papers/sampled/sgm_figure1",
    closed_form,
    {"Question": ("first", "second", "third", InUnits((SIZE, RATE)))},
    option="sgm1",
)

# --- Theorem 5: which direction costs more? ---------------------------------------------------------------------------

EQUAL = 1e-6  # relative; closer they are told to be one


def directions(*, noise: str, noise_multiplier: float, scale: float, sample_rate: float) -> Answer[Facts]:
    """ln A_α/(α − 1) and ln B_α/(α − 1) of one step against α."""
    if sample_rate == 0.0:
        raise ValueError("With q = 0, nothing is released and both are 0: choose a sampling rate above 0.")
    mechanism = Laplace(scale, sample_rate) if noise == "laplace" else SampledGaussian(noise_multiplier, sample_rate)
    x = 1.0 + np.geomspace(0.01, 63.0, 81)
    removed, added = both_directions(mechanism, x)
    both = (added > 0.0) & np.isfinite(removed)
    ratio = np.where(both, removed / np.where(both, added, 1.0), 1.0)
    plot = chart("papers/sampled", "theorem5", x, {"removed": removed, "added": added})
    most = int(ratio.argmax())
    facts = Facts(
        holds=bool((ratio >= 1.0 - EQUAL).all()),
        same=bool((np.abs(ratio - 1.0) <= EQUAL).all()),
        ratio=float(ratio[most]),
        order=float(x[most]),
        removed=float(removed[-1]),
        added=float(added[-1]),
        most=-math.log1p(-sample_rate) if sample_rate < 1.0 else 0.0,  # of an added example
        noises={key: kinds.KINDS[key].assumes for key in ("gaussian", "laplace")},
    )
    return Answer(plot, facts)


NOISE_KIND = choice("pnoise")
THEOREM_5 = make_question(
    "papers/sampled/theorem5",
    directions,
    lambda get: {
        "Noise": ("noise", "scale" if get(NOISE_KIND) == "laplace" else "noise_multiplier", InUnits((SIZE, RATE))),
    },
)

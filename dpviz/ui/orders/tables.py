"""The Orders page's numbers: marked orders for the eye, all points for files, and the known bounds side by side."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from dpviz.charts import numbers
from dpviz.ui.orders.curves import MOST_MOMENTS, Orders, in_view

LABELS = {"epsilon": "ε", "divergence": "R", "thresholds": "ε", "concentrated": "R/α"}


def table(found: Orders) -> pd.DataFrame:
    """Rows: λ = 0.1, 0.2, 0.5, 1, … as far as shown (the nearest order of each curve); columns: the curves."""
    largest, view = found.settings.largest, found.settings.view
    marks = [float(f"{m}e{d}") for d in range(-1, 7) for m in (1, 2, 5) if float(f"{m}e{d}") < largest]
    wanted = np.array([*(m for m in marks if view != "thresholds" or m >= 1), largest]) + 1.0
    exact = found.exact
    rows = np.unique(np.abs(exact.orders[None, :] - wanted[:, None]).argmin(axis=1))
    columns = {"λ": [numbers.plain(a - 1.0, digits=4) for a in exact.orders[rows]]}
    for s in found.series:
        known = dict(zip(s.orders.tolist(), s.values.tolist(), strict=True))
        shown = [known.get(a, math.nan) for a in exact.orders[rows].tolist()]
        name = f"{LABELS[view]} {s.name}" + (" (no bound)" if s.approximate else "")
        columns[name] = [numbers.epsilon(v, digits=4, up=not s.approximate) for v in shown]
    return pd.DataFrame(columns)


def data(found: Orders) -> pd.DataFrame:
    """All points of all curves as numbers, joined on the order."""
    columns = [pd.Series(s.values, index=s.orders, name=s.key) for s in found.series if s.orders.size]
    joined = pd.concat(columns, axis=1).sort_index()
    joined.insert(0, "order_alpha", joined.index)
    return joined.reset_index(drop=True)


def known_bounds(found: Orders) -> pd.DataFrame:
    """What is known at this setting (after Mironov, Talwar, Zhang 2019, Table 1), and what each makes of it at T."""
    there = in_view(found, "epsilon")
    old, classic = there.moments
    improved, plain = there.exact.least(), there.series[1].least()
    closed, asymptotic = there.series[2].least(), there.series[3].least()
    lemma = there.asymptotic_reason or f"whole λ ≤ {numbers.plain(there.asymptotic_last, digits=6)}"
    theorem = there.closed_reason or f"α ≤ {numbers.plain(there.closed_last)}" + (
        " (all shown)" if there.closed_last >= found.settings.largest else ""
    )
    rows = [
        _row("asymptotic", "Abadi et al. 2016, Lemma 3", lemma, asymptotic, "no bound: a term is left out"),
        _row("numerical, whole orders", f"moments accountant, λ ≤ {MOST_MOMENTS}", "always", (old, classic), "exact R"),
        _row("numerical, every order", "Rényi DP, classic conversion", "always", plain, "exact R"),
        _row("numerical, every order", "Rényi DP, improved conversion", "always", improved, "exact R"),
        _row("closed form", "Mironov, Talwar, Zhang 2019, Thm 11", theorem, closed, "2q²α/σ², about 4 × exact"),
    ]
    if there.tight is not None or found.tight is not None:
        _, high = found.tight or there.tight or (math.nan, math.nan)
        rows.append(_row("numerical, no orders", "tight accountant", "always", (math.nan, high), "upper end"))
    return pd.DataFrame(rows)


def _row(kind: str, source: str, holds: str, best: tuple[float, float], note: str) -> dict[str, str]:
    alpha, value = best
    return {
        "kind": kind,
        "bound": source,
        "holds at": holds,
        "best λ": numbers.plain(alpha - 1.0),
        "ε at T": numbers.epsilon(value, digits=4, up=True),
        "note": note,
    }

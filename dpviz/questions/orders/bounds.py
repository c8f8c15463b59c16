"""What is known at a setting, bound by bound, and what each makes of it at T: a detail of every question about orders.

After Mironov, Talwar, Zhang 2019, Table 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpviz import library as dpviz
from dpviz.accounting.renyi.closed_form import ClosedForm
from dpviz.fields import numbers
from dpviz.questions.answer import Answer, Note
from dpviz.questions.mechanism import SETTINGS, in_words
from dpviz.questions.orders.curves import (
    MOST_MOMENTS,
    Least,
    closed_last,
    deciding_orders,
    epsilon_lines,
    least,
    moments,
    order_grid,
)
from dpviz.questions.question import Block
from dpviz.questions.tight_band import TightBand

NOWHERE = Least(math.nan, math.nan)
APPROXIMATION = "Dashed: the asymptotic moment without its O(q³λ³/σ³), so an approximation, no bound."
OTHER = "of another mechanism: no ε to compare at the same q"


def known_bounds(answer: Answer[Any]) -> Sequence[Block]:
    """The mechanism in words, and the table, with the interval of ε where it is there."""
    sigma, rate, steps, delta = (answer.given[name] for name in SETTINGS)
    tight = getattr(answer.facts, "tight", None)
    table = _table(sigma, rate, steps, delta, answer.given["largest"], tight)
    return [Note(in_words(sigma, rate, steps, delta)), table]


def theorems(sigma: float, rate: float) -> list[str]:
    """Which theorems hold at no order, and that the asymptotic moment is no bound where it is drawn."""
    asymptotic = dpviz.asymptotic_reason(noise_multiplier=sigma, sample_rate=rate)
    return [text for text in (closed_reason(sigma, rate), asymptotic or APPROXIMATION) if text]


def closed_reason(sigma: float, rate: float) -> str:
    """Why the closed form holds at no order; empty where it holds."""
    return ClosedForm().reason(np.asarray(sigma), np.asarray(rate))


def _table(
    sigma: float, rate: float, steps: int, delta: float, largest: float, tight: TightBand | None
) -> pd.DataFrame:
    mechanism = {"noise_multiplier": sigma, "sample_rate": rate}
    best = {line.key: least(line) for line in epsilon_lines(sigma, rate, steps, delta, largest)}
    orders = order_grid(largest, deciding_orders(sigma, rate, steps, delta))
    last = closed_last(orders, dpviz.closed_form_divergence(**mechanism, orders=orders))
    theorem = f"α ≤ {numbers.plain(last)}{' (all shown)' if last >= largest else ''}"
    theorem = closed_reason(sigma, rate) if math.isnan(last) else theorem
    covered = numbers.plain(dpviz.asymptotic_last_order(**mechanism), digits=6)
    lemma = dpviz.asymptotic_reason(**mechanism) or f"whole λ ≤ {covered}"
    old = moments(sigma, rate, steps, delta)
    every, thm = "numerical, every order", "Mironov, Talwar, Zhang 2019, Thm 11"
    asymptotic = best.get("asymptotic", NOWHERE)
    elsewhere = "fixed size, without replacement", "replace one"
    rows = [
        _row("asymptotic", "Abadi et al. 2016, Lemma 3", lemma, asymptotic, "no bound: a term is left out"),
        _row("numerical, whole orders", f"moments accountant, λ ≤ {MOST_MOMENTS}", "always", old, "exact R"),
        _row(every, "Rényi DP, classic conversion", "always", best["renyi_classic"], "exact R"),
        _row(every, "Rényi DP, improved conversion", "always", best["renyi_improved"], "exact R"),
        _row("closed form", thm, theorem, best["closed_form"], "2q²α/σ², about 4 × exact"),
        _row("closed form", "Bun, Dwork, Rothblum, Steinke 2018", "small ρ and q", NOWHERE, OTHER, elsewhere),
        _row("any mechanism", "Wang, Balle, Kasiviswanathan 2019", "whole orders", NOWHERE, OTHER, elsewhere),
    ]
    if tight is not None:
        most = Least(math.nan, float(tight.upper[-1]))
        rows.append(_row("numerical, no orders", "tight accountant", "always", most, "upper end"))
    return pd.DataFrame(rows)


def _row(
    kind: str,
    source: str,
    holds: str,
    best: Least,
    note: str,
    setting: tuple[str, str] = ("Poisson", "add or remove one"),
) -> dict[str, str]:
    return {
        "kind": kind,
        "bound": source,
        "sampling": setting[0],
        "neighbours": setting[1],
        "holds at": holds,
        "best λ": numbers.plain(best.order),
        "ε at T": numbers.epsilon(best.value, digits=4, up=True),
        "note": note,
    }

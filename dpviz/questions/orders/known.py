"""Each known bound on ε at a setting: where it holds, and its best order (Mironov, Talwar, Zhang 2019, Table 1)."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from dpviz import library as dpviz
from dpviz.accounting.methods import ClosedForm, Renyi
from dpviz.fields import numbers
from dpviz.questions import AnyAnswer, Note
from dpviz.questions.mechanism import SETTINGS, in_words
from dpviz.questions.orders import curves
from dpviz.questions.orders.curves import Least, least
from dpviz.questions.question import Block
from dpviz.questions.tight_band import TightBand

NOWHERE = Least(math.nan, math.nan)


class KnownBound(NamedTuple):
    """A bound on ε, as the table has it; `best` is its order α and its ε at T."""

    kind: str
    bound: str
    holds_at: str
    best: Least
    note: str
    sampling: str = "Poisson"
    neighbours: str = "add or remove one"

    def cells(self) -> dict[str, str]:
        return {
            "kind": self.kind,
            "bound": self.bound,
            "sampling": self.sampling,
            "neighbours": self.neighbours,
            "holds at": self.holds_at,
            "best α": numbers.plain(self.best.order),
            "ε at T": numbers.up(self.best.value, 4),
            "note": self.note,
        }


def known_bounds(answer: AnyAnswer) -> Sequence[Block]:
    """The mechanism in words, and the table, with the interval of ε where it is there."""
    sigma, rate, steps, delta = (answer.given[name] for name in SETTINGS)
    rows = known(sigma, rate, steps, delta, answer.given["largest"], getattr(answer.facts, "tight", None))
    return [Note(in_words(sigma, rate, steps, delta)), pd.DataFrame([row.cells() for row in rows])]


def known(
    sigma: float, rate: float, steps: int, delta: float, largest: float, tight: TightBand | None
) -> Iterator[KnownBound]:
    """The table's rows; `tight` is the numerical accountant's interval, where there is one."""
    best = {line.key: least(line) for line in curves.epsilon_lines(sigma, rate, steps, delta, largest)}
    last = dpviz.papers.asymptotic_last_order(noise_multiplier=sigma, sample_rate=rate)
    lemma = (
        dpviz.papers.asymptotic_reason(noise_multiplier=sigma, sample_rate=rate)
        or f"whole α ≤ {numbers.plain(last + 1.0, digits=6)}"
    )
    asymptotic = best.get("asymptotic", NOWHERE)
    yield KnownBound("asymptotic", "Abadi et al. 2016, Lemma 3", lemma, asymptotic, "no bound: a term is missing")
    moments, name = curves.moments(sigma, rate, steps, delta), f"moments accountant, α ≤ {curves.MOST_MOMENTS}"
    yield KnownBound("numerical, whole orders", name, "always", moments, "exact R")
    every = "numerical, every order"
    yield KnownBound(every, "Rényi DP, classic conversion", "always", best[Renyi("classic").family], "exact R")
    yield KnownBound(every, "Rényi DP, improved conversion", "always", best[Renyi().family], "exact R")
    yield KnownBound(
        "closed form",
        "Mironov, Talwar, Zhang 2019, Thm 11",
        theorem(sigma, rate, steps, delta, largest),
        best[ClosedForm.name],
        "2q²α/σ², about 4 × exact",
    )
    yield another("closed form", "Bun, Dwork, Rothblum, Steinke 2018", "small ρ and q")
    yield another("any mechanism", "Wang, Balle, Kasiviswanathan 2019", "whole orders")
    if tight is not None:
        upper = Least(math.nan, float(tight.upper[-1]))
        yield KnownBound("numerical, no orders", "PLD accountant", "always", upper, "upper end")


def another(kind: str, bound: str, holds_at: str) -> KnownBound:
    """A bound on a mechanism that samples otherwise, without numbers."""
    why = "another mechanism: not comparable at the same q"
    return KnownBound(kind, bound, holds_at, NOWHERE, why, "fixed size, without replacement", "replace one")


def theorem(sigma: float, rate: float, steps: int, delta: float, largest: float) -> str:
    """Where the closed form holds."""
    orders = curves.order_grid(largest, curves.deciding_orders(sigma, rate, steps, delta))
    closed = dpviz.closed_form_divergence(noise_multiplier=sigma, sample_rate=rate, orders=orders)
    last = curves.closed_last(orders, closed)
    if math.isnan(last):
        return closed_reason(sigma, rate)
    return f"α ≤ {numbers.plain(last)}{' (all shown)' if last >= largest else ''}"


def closed_reason(sigma: float, rate: float) -> str:
    """Why the closed form holds at no order; empty where it holds."""
    return ClosedForm().reason(np.asarray(sigma), np.asarray(rate))

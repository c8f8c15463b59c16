"""What is known at a setting, bound by bound, and what each makes of it at T: a detail of every question about orders.

After Mironov, Talwar, Zhang 2019, Table 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

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
from dpviz.questions.words import rows

APPROXIMATION = "Dashed: the asymptotic moment without its O(q³λ³/σ³), so an approximation, no bound."


def known_bounds(answer: Answer[Any]) -> Sequence[Block]:
    """The mechanism in words, and the table, with the interval of ε where it is there."""
    sigma, rate, steps, delta = (answer.given[name] for name in SETTINGS)
    tight = getattr(answer.facts, "tight", None)
    facts = known(sigma, rate, steps, delta, answer.given["largest"], tight)
    return [Note(in_words(sigma, rate, steps, delta)), pd.DataFrame(rows("orders", "known", facts))]


def theorems(sigma: float, rate: float) -> list[str]:
    """Which theorems hold at no order, and that the asymptotic moment is no bound where it is drawn."""
    asymptotic = dpviz.asymptotic_reason(noise_multiplier=sigma, sample_rate=rate)
    return [text for text in (closed_reason(sigma, rate), asymptotic or APPROXIMATION) if text]


def closed_reason(sigma: float, rate: float) -> str:
    """Why the closed form holds at no order; empty where it holds."""
    return ClosedForm().reason(np.asarray(sigma), np.asarray(rate))


class Known(NamedTuple):
    """What each bound says at a setting.

    Attributes:
        lemma, theorem: where the asymptotic lemma and the closed form hold.
        best: line → its lowest point; `nowhere` of what has no number.
        moments, tight: those of the moments accountant, and the upper end of the tight interval.
    """

    lemma: str
    theorem: str
    best: dict[str, Least]
    moments: Least
    tight: float | None
    most_moments: int = MOST_MOMENTS
    nowhere: Least = Least(math.nan, math.nan)


def known(sigma: float, rate: float, steps: int, delta: float, largest: float, tight: TightBand | None) -> Known:
    mechanism = {"noise_multiplier": sigma, "sample_rate": rate}
    best = {line.key: least(line) for line in epsilon_lines(sigma, rate, steps, delta, largest)}
    orders = order_grid(largest, deciding_orders(sigma, rate, steps, delta))
    last = closed_last(orders, dpviz.closed_form_divergence(**mechanism, orders=orders))
    theorem = f"α ≤ {numbers.plain(last)}{' (all shown)' if last >= largest else ''}"
    covered = numbers.plain(dpviz.asymptotic_last_order(**mechanism), digits=6)
    return Known(
        lemma=dpviz.asymptotic_reason(**mechanism) or f"whole λ ≤ {covered}",
        theorem=closed_reason(sigma, rate) if math.isnan(last) else theorem,
        best={"asymptotic": Least(math.nan, math.nan)} | best,
        moments=moments(sigma, rate, steps, delta),
        tight=None if tight is None else float(tight.upper[-1]),
    )

"""The Noise page's numbers: what each method needs, and all points of all curves."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpviz.accounting.attack import attack_success
from dpviz.charts import numbers
from dpviz.ui.noise import words
from dpviz.ui.noise.curves import name_of, sigma_grid
from dpviz.ui.noise.result import Result


def table(result: Result) -> pd.DataFrame:
    """One row a method: the missing number, what it saves; for curves also ε at my σ and along the axis."""
    against = words.reference(result)
    rows = []
    for key, answer in result.needs.items():
        estimate = key.startswith("bayesian") and not result.certified
        row = {"method": name_of(key) + (" (no bound)" if estimate or not result.valid(key) else "")}
        symbol = words.SYMBOLS[result.unknown]
        row[f"{symbol} for ε ≤ {numbers.plain(result.settings.target)}"] = words.value_text(result.unknown, answer)
        compared = f"against {name_of(against)}" if against else "compared"
        row[compared] = (words.saving(result, key, against) if against else "") or "–"
        if key in result.curves:
            row |= _along(result, key)
        rows.append(row)
    return pd.DataFrame(rows)


def _along(result: Result, key: str) -> dict[str, str]:
    """ε and what it alone allows an attacker, at nine of the axis' own points."""
    curve, settings = result.curves[key], result.settings
    sigma = sigma_grid(settings.low, settings.high)
    chosen = np.unique(np.linspace(0, sigma.size - 1, 9).round().astype(int))
    found: dict[str, str] = {}
    for i in chosen.tolist():
        value = float(curve.epsilon[i])
        chance = "–"
        if not np.isnan(value):
            chance = numbers.probability(float(attack_success(value, delta=_delta(result, key))), up=True)
        found[f"ε (right by ε alone) at σ = {numbers.plain(float(sigma[i]))}"] = (
            f"{numbers.epsilon(value, up=True)} ({chance})"
        )
    return found


def _delta(result: Result, key: str) -> float:
    chosen = result.settings.bayesian
    return chosen.delta_mu if key.startswith("bayesian") and chosen is not None else result.settings.delta


def data(result: Result) -> pd.DataFrame:
    """All points of all curves as numbers; in Solve the answers, with why there is none."""
    if result.settings.view == "solve":
        return pd.DataFrame(
            {
                "method": list(result.needs),
                result.unknown: [answer.value for answer in result.needs.values()],
                "why_none": ["on its way" if answer.waits else answer.why for answer in result.needs.values()],
            }
        )
    columns = {"noise_multiplier": sigma_grid(result.settings.low, result.settings.high)}
    for key, curve in result.curves.items():
        columns[f"epsilon_{key}"] = curve.epsilon
        columns[f"order_{key}"] = curve.order
        if curve.bayesian is not None:
            columns[f"largest_share_{key}"] = curve.bayesian.largest_share
            columns[f"effective_size_{key}"] = curve.bayesian.effective_size
    return pd.DataFrame(columns)

"""The Attack page's numbers: marked rows for the eye, all points for files."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpviz.charts import numbers
from dpviz.ui.attack.curves import NAMES, Found

X_NAMES = {
    "success": "ε",
    "roc": "false positive rate",
    "town": "ε",
    "releases": "released mean",
    "residents": "share left out, 1 − p",
}
MARKS = {
    "roc": (0.0001, 0.001, 0.01, 0.05, 0.1, 0.2, 0.5, 0.8, 0.9),
    "residents": (1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.25, 0.5, 0.9),
}


def table(found: Found) -> pd.DataFrame:
    """About a dozen rows: the nearest points to round values of x; columns: the curves."""
    view, x = found.settings.view, found.series[0].x
    marks = MARKS.get(view) or tuple(np.linspace(float(x[0]), float(x[-1]), 11))
    rows = np.unique([int(np.abs(x - mark).argmin()) for mark in marks])
    columns = {X_NAMES[view]: [numbers.plain(v, digits=4) for v in x[rows]]}
    for s in found.series:
        columns[NAMES[s.key]] = [_value(view, s.key, v) for v in s.y[rows]]
    if found.outlier is not None and found.resident is not None and view == "town":
        columns["outlier, 99 % interval"] = _intervals(found.outlier.accuracy_low, found.outlier.accuracy_high, rows)
        columns["resident, 99 % interval"] = _intervals(found.resident.accuracy_low, found.resident.accuracy_high, rows)
    return pd.DataFrame(columns)


def _value(view: str, key: str, value: float) -> str:
    if view == "releases":
        return numbers.plain(value, digits=4)
    if view == "residents":
        return numbers.epsilon(value, digits=4, up=True)
    if np.isnan(value):
        return "–"
    return numbers.probability(value, up=key not in ("outlier", "resident", "sure", "guess"))


def _intervals(low: np.ndarray, high: np.ndarray, rows: np.ndarray) -> list[str]:
    return [f"{100 * a:.2f} – {100 * b:.2f} %" for a, b in zip(low[rows], high[rows], strict=True)]


def data(found: Found) -> pd.DataFrame:
    """All points of all curves as numbers; what was measured with its intervals."""
    columns = {"x": found.series[0].x} | {s.key: s.y for s in found.series}
    if found.settings.view == "town" and found.outlier is not None and found.resident is not None:
        for name, played in (("outlier", found.outlier), ("resident", found.resident)):
            columns[f"{name}_low"], columns[f"{name}_high"] = played.accuracy_low[:-1], played.accuracy_high[:-1]
        columns["sure_low"], columns["sure_high"] = found.outlier.sure_low[:-1], found.outlier.sure_high[:-1]
    return pd.DataFrame(columns)

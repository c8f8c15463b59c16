"""The Langevin page's numbers: some rows for the eye, all points for files."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpviz.charts import numbers
from dpviz.ui.langevin.curves import NAMES, Answer
from dpviz.ui.langevin.figure import X_TITLES

ROWS = 14


def table(found: Answer) -> pd.DataFrame:
    """At most ROWS of the chart's own points."""
    rows = np.unique(np.linspace(0, found.x.size - 1, min(ROWS, found.x.size)).round().astype(int))
    view = found.settings.view
    write = numbers.steps if view in ("cost", "conditions", "size") else numbers.plain
    columns: dict[str, list[str]] = {X_TITLES[view]: [write(float(x)) for x in found.x[rows]]}
    for key, values in found.curves.items():
        if view == "cost":
            columns[f"ε {NAMES[key]}"] = [numbers.epsilon(float(v), digits=4, up=True) for v in values[rows]]
        else:
            columns[NAMES[key]] = [numbers.epsilon(float(v), digits=4) for v in values[rows]]
    if view == "region":
        columns["q"] = [numbers.plain(float(tau) / found.settings.n) for tau in found.x[rows]]
    if view in ("cost", "conditions"):
        noise = found.settings.sampler.noise_multiplier(found.settings.schedule.at(found.x[rows]))
        columns["σ of that step"] = [numbers.plain(float(v)) for v in noise]
    return pd.DataFrame(columns)


def data(found: Answer) -> pd.DataFrame:
    """All points of all curves as numbers."""
    return pd.DataFrame({X_TITLES[found.settings.view]: found.x, **found.curves})

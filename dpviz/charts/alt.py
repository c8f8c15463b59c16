"""What a chart says in one sentence, for those who do not see it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.charts.marks import Line
from dpviz.charts.ticks import FORMATS
from dpviz.fields import numbers


def alt_text(
    lines: Sequence[Line], *, x_name: str, y_name: str = "ε", x_kind: str = "plain", lower: str = "best"
) -> str:
    """The takeaway of a line chart: the lowest and the highest curve at its right end, and how the lowest grew.

    Args:
        lines: the curves of the chart; pinned (faded) ones are only counted; approximations and Bayesian DP are never
            called the best while there is a bound.
        x_name, y_name: what the axes show, short ("steps T", "ε").
        x_kind: how x is written: "plain", "steps" or "delta".
        lower: what to call the lowest curve: "best" where lower is a better bound, else "lowest".
    """
    ends = [(line, *end) for line in lines if not line.faded and (end := _ends(line))]
    pinned = sum(line.faded for line in lines)
    if not ends:
        return f"{y_name} against {x_name}: no curve has a value here."
    far = max(last for _, _, last, _, _ in ends)
    here = [e for e in ends if e[2] == far]
    # Bayesian DP promises less than DP does, and an approximation promises nothing: neither is called the best bound.
    proper = [e for e in here if not e[0].approximate and e[0].family != bayesian.NAME]
    bounds = proper or here
    line, first, last, y_first, y_last = min(bounds, key=lambda e: e[4])
    write = FORMATS[x_kind]
    said = f"{y_name} against {x_name} from {write(first)} to {write(last)}: {line.name} is {lower} and"
    said += f" goes from {numbers.epsilon(y_first)} to {numbers.epsilon(y_last)}"
    top = max(here, key=lambda e: e[4])
    if top[0] is not line:
        said += f"; {top[0].name} ends highest at {numbers.epsilon(top[4])}"
    for other, _, _, _, y_other in here:
        if other.family == bayesian.NAME and other not in (line, top[0]):
            said += f"; {other.name} (a weaker promise) ends at {numbers.epsilon(y_other)}"
    if len(ends) > 2:
        said += f"; {len(ends)} curves"
    if pinned:
        said += f", {pinned} pinned beside {'it' if len(ends) == 1 else 'them'}"
    return said + "."


def _ends(line: Line) -> tuple[float, float, float, float] | None:
    """First x, last x, and their y, of what can be drawn."""
    seen = np.flatnonzero(line.seen(log_y=False))
    if not seen.size:
        return None
    x, y = np.asarray(line.x, dtype=np.float64), np.asarray(line.y, dtype=np.float64)
    return float(x[seen[0]]), float(x[seen[-1]]), float(y[seen[0]]), float(y[seen[-1]])

"""Words on a chart: how wide they are, how they are pushed apart, and the small ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from dpviz.charts import look

_NARROW = frozenset("iljtfrI.,:;|!'()[]/ \u202f·↑↓")
_WIDE = frozenset("mwMWGOQ@%→∞σεδ×")


def text_width(text: str, size: float) -> float:
    """About how many pixels `text` takes in the app's font at `size` pixels; errs on the wide side."""
    ems = sum(0.31 if c in _NARROW else 0.84 if c in _WIDE else 0.64 if c.isupper() else 0.55 for c in text)
    return 1.04 * size * ems


def shortened(text: str, longest: int) -> str:
    """`text` cut to `longest` characters, the last one an ellipsis where something was cut."""
    return text if len(text) <= longest else text[: longest - 1].rstrip(" ,·") + "…"


def pushed_apart(wanted: Sequence[float], *, gap: float, low: float, high: float) -> list[float]:
    """Positions nearest to `wanted` (least squares) that keep their order, stand ≥ `gap` apart, and lie in [low, high].

    Equal positions keep the order of the list. Where (n − 1)·gap does not fit into [low, high] the gap shrinks to what
    fits. After subtracting k·gap from the k-th, "at least gap apart" reads "not decreasing": an isotonic regression.

    Returns:
        The positions, in the order of `wanted`.
    """
    if not wanted:
        return []
    offsets = min(gap, (high - low) / max(len(wanted) - 1, 1)) * np.arange(len(wanted))
    order = np.argsort(wanted, kind="stable")
    places = np.empty(len(wanted))
    nearest = isotonic_regression(np.asarray(wanted, dtype=np.float64)[order] - offsets).x
    places[order] = np.clip(nearest, low, high - offsets[-1]) + offsets
    return [float(place) for place in places]


def small(text: str, *, size: float = look.SMALL_SIZE, **where: Any) -> dict[str, Any]:
    """A small annotation without an arrow."""
    return {"text": text, "showarrow": False, "font": {"size": size}, "borderpad": 0} | where


def title(text: str, left: float) -> dict[str, Any]:
    """The title of the y axis flat above it: easier to read than a turned one, and it costs no width. `left`: pixels of
    the margin."""
    where: dict[str, Any] = {"name": "title", "xref": "paper", "yref": "paper", "x": 0, "xanchor": "left"}
    return small(text, size=look.SMALL_SIZE + 1, **where, xshift=8 - left, y=1, yanchor="bottom", yshift=7)


def above(row: int, share: float, text: str) -> dict[str, Any]:
    """A name above the plot, in a row of its own, at this share of its width: on the side where there is room."""
    left = share > 0.6
    place = {"xanchor": "right" if left else "left", "xshift": 4 if left else -2, "yanchor": "bottom"}
    where = {"xref": "paper", "x": share, "yref": "paper", "y": 1, "yshift": 3 + 17 * row}
    return small(text, size=look.SMALL_SIZE + 0.5, **where, **place)

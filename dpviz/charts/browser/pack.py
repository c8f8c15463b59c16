"""Figures on their way to the browser: their columns of numbers as base64 of short numbers, each once."""

import base64
import gzip
import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.charts import browser
from dpviz.charts.look import PlotlyDict, PlotlyPart

SHORT = 16  # columns with fewer numbers stay as they are
EXACT = 2.0**24  # whole numbers up to here are the same in float32

# What only the hover reads.
HOVER = frozenset({"customdata", "text", "hovertext", "hovertemplate", "meta"})


class Packer:
    """Packs figures that share columns.

    Attributes:
        columns: base64 of little-endian numbers, by what they are called in the packed figures: "f4" and what tells
            its content from others, …
    """

    def __init__(self) -> None:
        self.columns: dict[str, str] = {}
        self._names: dict[tuple[str, bytes], str] = {}

    def figure(self, figure: PlotlyPart, *, hover: bool = True) -> PlotlyDict:
        """The figure with names in place of its columns; without what only the hover reads if not `hover`."""
        return {"data": [self._trace(trace, hover) for trace in _called(figure["data"])], "layout": figure["layout"]}

    def _trace(self, trace: PlotlyPart, hover: bool) -> PlotlyDict:
        packed = {key: value for key, value in trace.items() if hover or key not in HOVER}
        for key in ("x", "y", "customdata"):
            if (name := self._column(packed.get(key))) is not None:
                packed[key] = {"column": name}
        return packed

    def _column(self, values: Any) -> str | None:
        if not isinstance(values, Sequence) or isinstance(values, str) or len(values) < SHORT:
            return None
        try:
            column = np.array(values, dtype=np.float64)  # None becomes NaN
        except (TypeError, ValueError):
            return None
        if column.ndim != 1:
            return None
        kind = _kind(column)
        held = column.astype(f"<{kind}")
        key = (kind, held.tobytes())
        if key not in self._names:
            name = self._names[key] = f"{kind} {hashlib.blake2b(key[1], digest_size=9).hexdigest()}"
            self.columns[name] = base64.b64encode(key[1]).decode("ascii")
        return self._names[key]


def _kind(column: NDArray[np.float64]) -> str:
    """The shortest kind that tells these numbers: small whole ones, float32 where it tells them apart."""
    if ((column >= 0) & (column < 2**16) & (column == np.floor(column))).all():
        return "u1" if (column < 2**8).all() else "u2"
    wide = (np.abs(column) > EXACT).any() or (np.abs(column[column != 0]) < 1e-30).any()
    return "f8" if wide else "f4"


def _called(traces: Sequence[PlotlyPart]) -> list[PlotlyDict]:
    """Each trace with a name ("uid") that stays the same while its numbers change."""
    seen: Counter[str] = Counter()
    built = []
    for trace in traces:
        kind = re.sub(r"\W+", "_", str(trace.get("name") or ("fill" if "fill" in trace else "line")))
        seen[kind] += 1
        built.append({**trace, "uid": f"{kind}-{seen[kind]}"})
    return built


def compressed(content: bytes) -> str:
    """As text that `columns.js` reads."""
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode("ascii")


@lru_cache(maxsize=1)
def compressed_plotly() -> str:
    """Plotly's own script."""
    return compressed(browser.plotly().read_bytes())

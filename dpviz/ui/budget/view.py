"""What each view of the Budget page is: a result that can say, draw and tabulate itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpviz.charts import numbers
from dpviz.charts.marks import Line
from dpviz.ui.frame import Drawing, Figure, Remark

Array = npt.NDArray[np.float64]


class Result(ABC):
    """One view's numbers. The page's study hands every question on to these."""

    @abstractmethod
    def sentence(self) -> str: ...

    @abstractmethod
    def drawing(self, pinned: Sequence[tuple[str, Any]], points: Sequence[Any]) -> Drawing: ...

    @abstractmethod
    def figures(self) -> list[Figure]: ...

    @abstractmethod
    def remarks(self) -> list[Remark]: ...

    @abstractmethod
    def table(self) -> pd.DataFrame: ...

    @abstractmethod
    def data(self) -> pd.DataFrame: ...

    @abstractmethod
    def formulas(self) -> list[tuple[str, str]]: ...

    @abstractmethod
    def script(self) -> str: ...

    def slow_key(self) -> Hashable | None:
        """What decides the slow part, None when there is none."""
        return None

    def slow_part(self) -> Any:
        raise NotImplementedError("Expected a slow_key of None: this view has no slow part.")

    def with_slow(self, part: Any) -> Self:
        """The same with what `slow_part` of an equal `slow_key` returned."""
        raise NotImplementedError("Expected a slow_key of None: this view has no slow part.")


def epsilon(value: float, digits: int = 3) -> str:
    """ε rounded up, for bounds."""
    return numbers.epsilon(value, digits=digits, up=True)


def budget_range(lines: Sequence[Line], budget: float, log: bool) -> tuple[float, float] | None:
    """A range of ε that shows the budget too; None leaves a log axis to the curves."""
    if log:
        return None
    values = np.concatenate([np.asarray(line.y, dtype=np.float64) for line in lines] or [np.zeros(1)])
    return 0.0, 1.12 * max(budget, float(values[np.isfinite(values)].max(initial=0.0)))


def tex(value: float) -> str:
    """Four significant digits in LaTeX."""
    if np.isinf(value):
        return r"\infty"
    mantissa, e, power = f"{value:.4g}".partition("e")
    return rf"{mantissa}\cdot 10^{{{int(power)}}}" if e else mantissa


ODOMETER_FORMULA = (
    r"\begin{aligned}\varepsilon &= \min_\alpha\; 2^{f-1}\,w\,\frac{\ln(2|\Lambda|/\delta)}{\alpha-1}"
    r" + \frac{\ln(2|\Lambda|f^2/\delta)}{\alpha-1}"
)


def odometer_formula(*, order: float, filters: int, share: float, orders: int, delta: float, value: float) -> str:
    """The odometer's formula with today's numbers, as LaTeX."""
    odds = np.log(2 * orders / delta)
    return (
        ODOMETER_FORMULA + rf"\\ &= 2^{{{filters - 1}}}\cdot {share:g}\cdot\frac{{{tex(odds)}}}{{{tex(order - 1)}}}"
        rf" + \frac{{{tex(odds + 2 * np.log(filters))}}}{{{tex(order - 1)}}} = {tex(value)}"
        rf"\quad(\alpha = {tex(order)},\; f = {filters},\; |\Lambda| = {orders})\end{{aligned}}"
    )


def header(what: str, *imports: str) -> list[str]:
    """The first lines of a script."""
    return [f'"""{what}; needs dpviz, numpy and plotly."""\n', *imports]


NUMPY, PLOTLY = "import numpy as np", "import plotly.graph_objects as go\n"


def footer(x: str, title: str) -> str:
    """The end of a script: the chart of `curves` against the variable `x`."""
    return (
        '\nif __name__ == "__main__":\n'
        f"    figure = go.Figure([go.Scatter(x={x}, y=y, name=name) for name, y in curves.items()])\n"
        f'    figure.update_layout(xaxis_title="{title}", yaxis_title="ε", hovermode="x unified")\n'
        "    figure.show()\n"
    )

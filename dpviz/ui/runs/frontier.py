"""Accuracy against ε of all runs as HTML: each dot is a link that opens its run, for a mouse, a finger and a keyboard.

Places are shares of the chart, so that it has any width without a script, and thousands of runs cost what MOST do.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape

from dpviz.charts.axes import FORMATS, AxisScale, linear_ticks, log_ticks
from dpviz.fields import numbers
from dpviz.questions import links
from dpviz.ui.runs.unbeaten import RunResult, unbeaten
from dpviz.ui.train.words import in_words

MOST = 200  # runs that are drawn
_AIR = 0.06  # of an axis, at each end
_WITHOUT = 0.9  # of the width: right of it stand runs that claim no ε


@dataclass(frozen=True)
class Frontier:
    """Runs that were tested, and how many there are of them with those that are not drawn."""

    runs: Sequence[RunResult]
    tested: int

    @cached_property
    def best(self) -> list[RunResult]:
        """Those that no other beats."""
        return unbeaten(self.runs)

    @property
    def alt(self) -> str:
        """The takeaway for those who do not see it."""
        words = f"Test accuracy against claimed ε of {_count(len(self.runs))}"
        return f"{words}; no other run beats {'; '.join(map(_told, self.best[:3]))}."

    @property
    def note(self) -> str:
        """What is drawn, and what is not."""
        words = "Filled: no other run on the same data is as accurate at as little ε. Open a run by its dot."
        if self.tested > len(self.runs):
            which = f"{numbers.steps(len(self.runs))} most accurate of {numbers.steps(self.tested)} tested runs"
            words = f"{words} Only the {which} are drawn: filter for others."
        return words

    def html(self) -> str:
        """The chart; empty where fewer than two runs were tested."""
        if len(self.runs) < 2:
            return ""
        across, up, best = self._across(), self._up(), {run.record.id for run in self.best}
        ticks = _ticks("x", across, _WITHOUT if self._without else 1.0) + _ticks("y", up, 1.0)
        if self._without:
            ticks += f'<i class="x" style="left:{50 * (1 + _WITHOUT):.2f}%"><span>no ε</span></i>'
        # The most accurate are drawn last, over the others.
        dots = "".join(self._dot(run, across, up, run.record.id in best) for run in reversed(self.runs))
        titles = '<b class="y">test accuracy</b><b class="x">ε claimed</b>'
        chart = f'<div class="plot" role="group" aria-label="{escape(self.alt)}">{ticks}{titles}{dots}</div>'
        return f'<div class="dpviz-frontier">{chart}<div class="dpviz-quiet">{escape(self.note)}</div></div>'

    @property
    def _epsilons(self) -> list[float]:
        return [run.claim.epsilon for run in self.runs if _claims(run)]

    @property
    def _without(self) -> bool:
        """Whether some of them claim no ε."""
        return len(self._epsilons) < len(self.runs)

    def _across(self) -> AxisScale:
        values = self._epsilons or [1.0]
        low, high = min(values), max(values)
        air = max((high / low) ** _AIR, 1.1)
        return AxisScale(low / air, high * air, log=True)

    def _up(self) -> AxisScale:
        values = [run.accuracy for run in self.runs]
        low, high = min(values), max(values)
        air = max(_AIR * (high - low), 0.005)
        return AxisScale(low - air, high + air)

    def _dot(self, run: RunResult, across: AxisScale, up: AxisScale, best: bool) -> str:
        share = 0.5 * (1.0 + _WITHOUT)
        if _claims(run):
            share = across.share(run.claim.epsilon) * (_WITHOUT if self._without else 1.0)
        place = f"left:{100 * share:.2f}%;bottom:{100 * up.share(run.accuracy):.2f}%"
        side = ' data-side="left"' if share > 0.5 else ""
        # All can be pressed; a key goes through the few that no other beats, and through the list below.
        marks = ' class="best"' if best else ' tabindex="-1"'
        to = escape(links.address(f"train?run={run.record.id}"))
        return f'<a href="{to}" target="_self"{marks}{side} style="{place}" aria-label="{escape(_told(run))}"></a>'


def _claims(run: RunResult) -> bool:
    return run.claim.holds and 0.0 < run.claim.epsilon < math.inf


def _count(number: int) -> str:
    return f"{numbers.steps(number)} run{'s' * (number != 1)}"


def _told(run: RunResult) -> str:
    """ "Run 3: 97.9 % at ε ≤ 3"."""
    cost = f"at ε ≤ {numbers.epsilon(run.claim.epsilon, up=True)}" if run.claim.holds else in_words(run.claim)
    return f"{run.record.title}: {numbers.tenths(run.accuracy)} {cost}"


def _ticks(name: str, scale: AxisScale, width: float) -> str:
    """Lines across the plot with their values."""
    side, kind = ("left", "plain") if name == "x" else ("bottom", "share")
    values = (log_ticks if scale.log else linear_ticks)(scale.low, scale.high, most=6)
    places = [(100 * width * scale.share(value), FORMATS[kind](value)) for value in values]
    return "".join(f'<i class="{name}" style="{side}:{at:.2f}%"><span>{escape(text)}</span></i>' for at, text in places)

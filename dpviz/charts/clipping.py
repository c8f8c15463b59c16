"""The density of gradient norms with the clipping threshold and the noise, as a small SVG below a slider.

It is made of few numbers and drawn as text, so that it moves with a hand as a caption does. Its axis is logarithmic and
depends on the norms' distribution alone: while the threshold or the noise moves, everything else stays.
"""

from dataclasses import dataclass
from html import escape

import numpy as np

from dpviz._arrays import Array
from dpviz.charts import look
from dpviz.charts.axes import AxisScale
from dpviz.charts.labels import text_width
from dpviz.fields import numbers
from dpviz.gradients.norm_density import NormDensity

WIDTH, HEIGHT = 260, 88
_TOP, _GROUND, _BAR = 16.0, 62.0, 4.0  # pixels: of the highest density, of no density, and of the bar's height
_BELOW = 77.0  # pixels from the top to the middle of the bar and its words
_SIZE, _GAP = 11.0, 4.0  # pixels of the type, and between words and what they name
C, NOISE = look.BLUE, look.ORANGE  # as in histograms of distances


@dataclass(frozen=True, slots=True)
class Clipping:
    """Norms that are clipped to C, and the noise that every step gets.

    Attributes:
        density: of the norms; those below are ÷ their median.
        threshold: C.
        clipped: the share of norms that are longer.
        noise: the standard deviation σC.
        name: the distribution in words.
    """

    density: NormDensity
    threshold: float
    clipped: float
    noise: float
    name: str

    @property
    def alt(self) -> str:
        """The takeaway for those who do not see the picture."""
        return (
            f"{self.name}: {numbers.percent(self.clipped, 4)} of the norms are longer than C, "
            f"{numbers.plain(self.threshold)} × the median norm, and are clipped to it. The noise σC is "
            f"{numbers.plain(self.noise, digits=2)} × the median norm."
        )

    def svg(self) -> str:
        """The picture."""
        at = _Places(AxisScale(self.density.low, self.density.high, log=True))
        cut = at(self.threshold)
        x = WIDTH * at.scale.shares(self.density.norms)
        y = _GROUND - (_GROUND - _TOP) * self.density.density
        parts = [
            _shape(_between(x, y, float(x[0]), cut), "currentColor", 0.18),
            _shape(_between(x, y, cut, float(x[-1])), C, 0.7),
            _stroke(0.0, _GROUND, float(WIDTH), _GROUND, "currentColor", 1.0, opacity=0.35),
            _stroke(cut, _TOP - 4.0, cut, _GROUND, C, 2.0),
            _words(_beside(cut, f"C · {numbers.percent(self.clipped, 4)} clipped"), 9.0, C),
            *self._bar(at),
        ]
        where = f'viewBox="0 0 {WIDTH} {HEIGHT}" font-size="{_SIZE:g}"'
        return f'<svg class="dpviz-picture" role="img" aria-label="{escape(self.alt)}" {where}>{"".join(parts)}</svg>'

    def _bar(self, at: "_Places") -> list[str]:
        """From the median norm to the noise, with both names outside of it."""
        median, noise = at(1.0), at(self.noise)
        left, right = sorted((median, noise))
        names = "median norm", "noise σC"
        if self.noise > self.density.high:
            names = "median norm", "noise σC →"
        elif self.noise < self.density.low:
            names = "median norm", "← noise σC"
        before, behind = names if noise >= median else names[::-1]
        left = max(left, text_width(before, _SIZE) + 2 * _GAP)
        right = min(right, WIDTH - text_width(behind, _SIZE) - 2 * _GAP)
        return [
            _stroke(median, _GROUND, median, _BELOW + _BAR, "currentColor", 1.0, opacity=0.6),
            f'<rect x="{left:.1f}" y="{_BELOW - _BAR / 2:g}" width="{max(right - left, 1.0):.1f}" height="{_BAR:g}" '
            f'fill="{NOISE}"/>',
            _words((left - _GAP, "end", before), _BELOW + 4.0),
            _words((right + _GAP, "start", behind), _BELOW + 4.0),
        ]


class _Places:
    """Where norms lie, in pixels; what is beyond an end lies on it."""

    def __init__(self, scale: AxisScale) -> None:
        self.scale = scale

    def __call__(self, norm: float) -> float:
        return WIDTH * self.scale.within(norm)


def _between(x: Array, y: Array, low: float, high: float) -> list[tuple[float, float]]:
    """The points of a curve between two places, with its values there; none where nothing lies between."""
    if not low < high:
        return []
    within, ends = (x > low) & (x < high), np.interp([low, high], x, y)
    inner = zip(x[within].tolist(), y[within].tolist(), strict=True)
    return [(low, float(ends[0])), *inner, (high, float(ends[1]))]


def _beside(x: float, text: str) -> tuple[float, str, str]:
    """Where a name of an upright line stands: right of it where it has room."""
    room = x + _GAP + text_width(text, _SIZE) <= WIDTH
    return (x + _GAP, "start", text) if room else (x - _GAP, "end", text)


def _shape(points: list[tuple[float, float]], color: str, opacity: float) -> str:
    if not points:
        return ""
    outline = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    (first, _), (last, _) = points[0], points[-1]
    path = f"M{first:.1f} {_GROUND:g}L{outline}L{last:.1f} {_GROUND:g}Z"
    return f'<path d="{path}" fill="{color}" opacity="{opacity:g}"/>'


def _stroke(x0: float, y0: float, x1: float, y1: float, color: str, width: float, *, opacity: float = 1.0) -> str:
    line = f'x1="{x0:.1f}" y1="{y0:g}" x2="{x1:.1f}" y2="{y1:g}" stroke="{color}" stroke-width="{width:g}"'
    return f'<line {line} opacity="{opacity:g}"/>'


def _words(place: tuple[float, str, str], y: float, color: str = "") -> str:
    x, anchor, text = place
    fill = f'style="fill:{look.ink(color)}"' if color else 'fill="currentColor"'
    return f'<text x="{x:.1f}" y="{y:g}" text-anchor="{anchor}" {fill}>{escape(text)}</text>'

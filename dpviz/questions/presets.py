"""A published setting as a value; each page lists its own, `registry` gathers them."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl

from dpviz.charts.marks import Point


@dataclass(frozen=True)
class Preset:
    """One published setting.

    Attributes:
        key: its name in a link.
        name: what the list calls it.
        values: field keys → texts; every other field goes to its default.
        points: the printed values.
        note: what to know about it: what the paper leaves open, and what was chosen here.
    """

    key: str
    name: str
    values: dict[str, str]
    points: tuple[Point, ...] = ()
    note: str = ""


def texts(link: str) -> dict[str, str]:
    """The values that a link's query writes: "sigma=1&q=0.01"."""
    return dict(parse_qsl(link, strict_parsing=True))


# Triastcyn & Faltings 2020, §5.1: 50 vectors of 1000 Weibull(0.5) coordinates, all 1225 pairs.
BDP_SYNTHETIC = texts(
    "sigma=1&q=0.001&n=60000&steps=100&delta=1e-5&source=vectors&shape=0.5&vectors=50&dims=1000&pairs=all&dmu=1e-5"
)

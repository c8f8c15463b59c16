"""What the attacker sees: densities of the town's released mean with and without the outlier."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz.accounting.attack import income_example as towns
from dpviz.charts import look
from dpviz.charts.marks import Line, Region
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.questions.answer import Answer
from dpviz.questions.attack.release import Guessed, TownRelease, about, measured, played, promise


@dataclass(frozen=True, eq=False)
class Seen(Guessed):
    """Also the mean without and with the outlier, and the noise's scale; in thousands."""

    without: float
    there: float
    scale: float


def seen(*, share: float, releases: int, **setting: Any) -> Answer[Seen]:
    """Both densities, and the threshold between them; other keywords as in `TownRelease`."""
    release = TownRelease(**setting)
    people, noise = release.town(), release.noise
    facts = played(release, people, share, releases)
    scale = float(towns.noise_scale(**release.promise)) * people.limit / release.residents
    without = float(people.incomes.sum()) / release.residents
    there = without + people.outlier / release.residents
    tail = 5.0 if noise == "laplace" else 3.2
    x = np.unique(np.r_[np.linspace(without - tail * scale, there + tail * scale, 241), without, there])
    lines = tuple(
        Line(key, name, x, density((x - mean) / scale, noise) / scale, look.SOLID, color=color, kept=key == "with")
        for key, name, mean, color in (
            ("without", "without", without, look.BLUE),
            ("with", "with the outlier", there, look.ORANGE),
        )
    )
    plot = LinePlot(
        x=Axis(
            "released mean income (thousand)",
            name="released mean",
            shown=(float(x[0]), float(x[-1])),
            hover="mean %{x:,.4~r}",
            write=lambda v: numbers.plain(v, digits=4),
        ),
        y=Axis(
            "density",
            shown=(0.0, 1.25 * max(float(np.max(line.y)) for line in lines)),
            write=lambda v: numbers.plain(v, digits=4),
        ),
        lines=lines,
        regions=(Region(0.5 * (without + there), math.inf, "here the attacker says: the outlier is in town"),),
        end_values=False,
        said=f"Centred at {numbers.plain(without)} without the outlier and {numbers.plain(there)} with.",
    )
    return Answer(plot, Seen(**vars(facts), without=without, there=there, scale=scale))


def density(z: np.ndarray, noise: str) -> np.ndarray:
    """Of noise of unit scale."""
    if noise == "laplace":
        return np.asarray(np.exp(-np.abs(z)) / 2.0)
    return np.asarray(np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi))


def headline(a: Answer[Seen]) -> str:
    f = a.facts
    return (
        f"{promise(a)}: the outlier moves the mean from <b>{numbers.plain(f.without)}</b> to "
        f"<b>{numbers.plain(f.there)}</b> thousand, the noise blurs it by {numbers.plain(f.scale)}. Seeing the "
        f"released mean, the attacker is right in <b>{measured(f.outlier.accuracy[-1])}</b> of the releases."
    )


SEEN = about("releases", "The town: what the attacker sees", seen, headline)

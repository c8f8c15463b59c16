"""Densities of the town's released mean without and with the outlier: what does the attacker see?"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np

from dpviz._arrays import Array
from dpviz.charts import Axis, Line, LinePlot, Region, look
from dpviz.fields import numbers
from dpviz.questions import Answer, Words
from dpviz.questions.attack.shared import ASSUMPTIONS
from dpviz.questions.attack.town_release import (
    RELEASES,
    SHARE,
    Guessed,
    TownRelease,
    guess_formulas,
    guess_metrics,
    played,
    town_question,
)


@dataclass(frozen=True, eq=False)
class SeenFacts:
    """The mean without and with the outlier, and the noise's scale, in thousands; and what the attacker achieved."""

    without: float
    there: float
    scale: float
    guessed: Guessed


def seen(*, share: Annotated[float, SHARE], releases: Annotated[int, RELEASES], **setting: Any) -> Answer[SeenFacts]:
    """Both densities, and the threshold between them; other keywords as in `TownRelease`."""
    release = TownRelease(**setting)
    people = release.town()
    scale = release.noise_scale * people.limit / release.residents
    without = float(people.incomes.sum()) / release.residents
    there = without + people.outlier / release.residents
    tail = 3.2 if release.gaussian else 5.0
    x = np.unique(np.r_[np.linspace(without - tail * scale, there + tail * scale, 241), without, there])
    at_without, at_there = (density((x - mean) / scale, release) / scale for mean in (without, there))
    four_digits = partial(numbers.plain, digits=4)
    plot = LinePlot(
        x=Axis(
            "released mean income (thousand)",
            name="released mean",
            shown=(float(x[0]), float(x[-1])),
            hover="mean %{x:,.4~r}",
            write=four_digits,
        ),
        y=Axis("density", shown=(0.0, 1.25 * float(max(at_without.max(), at_there.max()))), write=four_digits),
        lines=(
            Line("without", "without", x, at_without, look.SOLID, color=look.BLUE, kept=False),
            Line("with", "with the outlier", x, at_there, look.SOLID, color=look.ORANGE),
        ),
        regions=(Region(0.5 * (without + there), math.inf, "here the attacker says: the outlier is in town"),),
        end_values=False,
        summary=f"Centred at {numbers.plain(without)} without the outlier and {numbers.plain(there)} with.",
    )
    return Answer(plot, SeenFacts(without, there, scale, played(release, people, share, releases)))


def density(z: Array, release: TownRelease) -> Array:
    """Of the release's noise, of unit scale."""
    if release.gaussian:
        return np.asarray(np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi))
    return np.asarray(np.exp(-np.abs(z)) / 2.0)


def headline(f: SeenFacts) -> str:
    return (
        f"With {f.guessed.release.in_words}, the outlier moves the mean from <b>{numbers.plain(f.without)}</b> to "
        f"<b>{numbers.plain(f.there)}</b> thousand, and the noise has scale {numbers.plain(f.scale)}."
    )


SEEN = town_question(
    "releases",
    "The town: what the attacker sees",
    seen,
    Words(
        headline,
        lambda f: guess_metrics(f.guessed),
        formulas=lambda f: guess_formulas(f.guessed),
        assumptions=ASSUMPTIONS,
    ),
    asks="there",
)

"""An attacker's measured success against the town's outlier and a resident, by ε: how often is the attacker right?"""

import math
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

from dpviz import library as dpviz
from dpviz.charts import Axis, Line, LinePlot, Ring, look
from dpviz.fields import numbers
from dpviz.questions import Answer, Note, Words
from dpviz.questions.attack.shared import ASSUMPTIONS
from dpviz.questions.attack.success import LARGEST
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

COLORS = {"sure": look.BROWN, "outlier": look.ORANGE, "resident": look.BLUE}
SURE = "outlier, sure claims"


def town(
    *,
    share: Annotated[float, SHARE],
    releases: Annotated[int, RELEASES],
    largest: Annotated[float, LARGEST],
    **setting: Any,
) -> Answer[Guessed]:
    """Right guesses, measured, against ε, and what (ε, δ) alone allows; other keywords as in `TownRelease`."""
    release = TownRelease(**setting)
    x = np.linspace(0.0, max(largest, 1.25 * release.epsilon), 81)[1:]
    facts = played(release, release.town(), share, releases, *x)
    bound = np.asarray(dpviz.attack_success(x, delta=release.delta_kept))
    lines = [
        Line("bound", "bound of (ε, δ)", x, bound, look.SOLID, color=look.GREEN, kept=False, write=numbers.chance_up)
    ]
    for key, color in COLORS.items():
        right, name = facts.measured[key].share[:-1], SURE if key == "sure" else key
        lines.append(Line(key, name, x, right, look.SOLID, color=color, kept=key == "outlier"))
    lowest = min(float(np.nanmin(line.y, initial=1.0)) for line in lines)
    plot = LinePlot(
        x=Axis("ε of the release", name="ε", hover="ε = %{x:,.4~r}", shown=(0.0, float(x[-1]))),
        y=Axis(
            "share of right guesses", column="right", shown=(min(0.48, lowest - 0.02), 1.02), write=numbers.probability
        ),
        lines=tuple(lines),
        rings=tuple(rings(facts)),
        end_values=False,
        more=tuple(
            (f"right_{name}_{side}", values[:-1])
            for name, measured in facts.measured.items()
            for side, values in (("low", measured.low), ("high", measured.high))
        ),
    )
    return Answer(plot, facts)


def rings(facts: Guessed) -> Iterator[Ring]:
    """What was measured at the release's own ε."""
    for key, measured in facts.measured.items():
        share, low, high = (float(values[-1]) for values in measured)
        if not math.isnan(share):
            interval = f"99 % interval {numbers.probability(low)} to {numbers.probability(high)}"
            who = "sure claims" if key == "sure" else key
            text = f"measured, {who} ({interval})"
            yield Ring(facts.release.epsilon, share, text, COLORS[key], low, high, name=numbers.tenths(share))


def headline(f: Guessed) -> str:
    return (
        f"In {numbers.steps(f.outlier.releases)} releases with {f.release.in_words}, the attacker was right about the "
        f"outlier <b>{numbers.tenths(f.outlier.accuracy[-1])}</b> of the time and about the resident "
        f"<b>{numbers.tenths(f.resident.accuracy[-1])}</b> (chance: 50 %)."
    )


def notes(f: Guessed) -> Iterator[Note]:
    for who in f.too_good:
        yield Note(
            f"The measured accuracy is above the bound for {who}. By chance this happens in 1 of 200 simulations: try "
            "another seed.",
            "caution",
        )
    if not f.release.gaussian:
        yield Note(
            "An attacker is sure only if the released mean is at least the true mean with the outlier. Sure claims "
            "reach the bound; all guesses together do not. This is the paper's argument for equation 1."
        )


TOWN = town_question(
    "town",
    "The town: outlier and resident",
    town,
    Words(headline, guess_metrics, notes, guess_formulas, ASSUMPTIONS),
    "bdptown",
    asks="outlier",
)

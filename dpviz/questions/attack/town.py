"""The town of Triastcyn & Faltings 2020, §3: how often an attacker is right about its outlier, and about a resident."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz.charts import look
from dpviz.charts.marks import Line, Ring
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.questions.answer import Answer, Note
from dpviz.questions.attack.fields import LARGEST
from dpviz.questions.attack.release import (
    Guessed,
    TownRelease,
    about,
    bound,
    delta_kept,
    measured,
    played,
    promise,
    promised,
)
from dpviz.questions.attack.words import at_most
from dpviz.questions.presets import presets


def town(*, share: float, releases: int, largest: float, **setting: Any) -> Answer[Guessed]:
    """Right guesses, measured, against ε, and what (ε, δ) alone allows; other keywords as in `TownRelease`."""
    release = TownRelease(**setting)
    epsilon = release.epsilon
    x = np.linspace(0.0, max(largest, 1.25 * epsilon), 81)[1:]
    facts = played(release, release.town(), share, releases, *x)
    o, r = facts.outlier, facts.resident
    allowed = np.asarray(dpviz.attack_success(x, delta=delta_kept(release.noise, release.delta)))
    lines = (
        Line("bound", "bound of (ε, δ)", x, allowed, "moments", color=look.GREEN, kept=False, write=at_most),
        Line("sure", "outlier, sure claims", x, o.sure[:-1], "moments", color=look.BROWN, kept=False),
        Line("outlier", "outlier", x, o.accuracy[:-1], "moments", color=look.ORANGE),
        Line("resident", "resident", x, r.accuracy[:-1], "moments", color=look.BLUE, kept=False),
    )
    measured_here = (
        ("outlier", o.accuracy, o.accuracy_low, o.accuracy_high, look.ORANGE),
        ("resident", r.accuracy, r.accuracy_low, r.accuracy_high, look.BLUE),
        ("sure claims", o.sure, o.sure_low, o.sure_high, look.BROWN),
    )
    lowest = min(float(np.nanmin(line.y, initial=1.0)) for line in lines)
    plot = LinePlot(
        x=Axis("ε of the release", name="ε", shown=(0.0, float(x[-1])), hover="ε = %{x:,.4~r}"),
        y=Axis(
            "share of right guesses",
            column="right",
            shown=(min(0.48, lowest - 0.02), 1.02),
            write=numbers.probability,
        ),
        lines=lines,
        rings=tuple(
            ring(what, epsilon, value[-1], low[-1], high[-1], color)
            for what, value, low, high, color in measured_here
            if not math.isnan(value[-1])
        ),
        end_values=False,
        more=tuple(
            (f"right_{who}_{side}", getattr(found, f"{what}_{side}")[:-1])
            for who, found, what in (("outlier", o, "accuracy"), ("resident", r, "accuracy"), ("sure", o, "sure"))
            for side in ("low", "high")
        ),
    )
    return Answer(plot, facts)


def ring(what: str, epsilon: float, value: float, low: float, high: float, color: str) -> Ring:
    """What was measured at the release's own ε."""
    text = (
        f"measured, {what}: {numbers.probability(value)} "
        f"(99 % interval {numbers.probability(low)} to {numbers.probability(high)})"
    )
    return Ring(epsilon, value, text, color, low, high)


def headline(a: Answer[Guessed]) -> str:
    o, r = a.facts.outlier, a.facts.resident
    sure = "" if math.isnan(o.sure[-1]) else f", claims beyond the outlier's own mean <b>{measured(o.sure[-1])}</b>"
    return (
        f"{promise(a)}: about the outlier the attacker is right in <b>{measured(o.accuracy[-1])}</b> of "
        f"{numbers.steps(o.releases)} releases{sure} ({promised(a)} allows {at_most(bound(a))}, this noise "
        f"{at_most(a.facts.best)} of all guesses); about the resident in <b>{measured(r.accuracy[-1])}</b>, where "
        "a coin is right in 50 %."
    )


def notes(a: Answer[Guessed]) -> list[Note]:
    g, o, r = a.given, a.facts.outlier, a.facts.resident
    most_sure = float(dpviz.sure_success(g["epsilon"], hit_rate=0.5, delta=delta_kept(g["noise"], g["delta"])))
    above = {
        "the outlier": o.accuracy_low[-1] > bound(a) or o.sure_low[-1] > most_sure,
        "the resident": r.accuracy_low[-1] > bound(a),
    }
    built = [
        Note(f"Measured above the bound for {who}: chance does this in 1 of 200 plays; try another seed.", "caution")
        for who, too_good in above.items()
        if too_good
    ]
    if g["noise"] == "laplace":
        built.append(
            Note(
                "Sure claims: made only when the mean is at or above what the outlier alone would make it. They "
                "reach the bound, all guesses together do not: that is the paper's argument for equation 1."
            )
        )
    return built


TOWN = about("town", "The town: outlier and resident", town, headline, notes, *presets("bdptown"), largest=LARGEST)

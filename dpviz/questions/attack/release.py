"""The town's noisy mean: what three questions share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz.accounting.attack import income_example as towns
from dpviz.fields import numbers
from dpviz.fields.field import Field
from dpviz.questions.answer import Answer, Metric, Note
from dpviz.questions.attack.fields import EPSILON, FACTOR, NOISE, RELEASES, RESIDENTS, SEED, SHARE
from dpviz.questions.attack.words import ASSUMPTIONS, at_most
from dpviz.questions.layout import Groups, Item, Reader, experts
from dpviz.questions.mechanism import DELTA
from dpviz.questions.presets import Preset
from dpviz.questions.question import Question, Setting
from dpviz.questions.shared import IMAGE

MEDIAN, SPREAD = 30.0, 0.6  # thousand a year; the spread of log incomes in many countries
NOISES = {"laplace": "Laplace", "gaussian": "Gaussian"}
SETTINGS: dict[str, Setting] = {
    "epsilon": EPSILON,
    "noise": NOISE,
    "delta": DELTA,
    "residents": RESIDENTS,
    "factor": FACTOR,
    "seed": SEED,
}


@dataclass(frozen=True)
class TownRelease:
    """The town's mean, released once: the keywords of `SETTINGS`."""

    epsilon: float
    noise: str
    delta: float
    residents: int
    factor: float
    seed: int

    def town(self) -> towns.Town:
        return towns.draw_town(
            residents=self.residents, median=MEDIAN, spread=SPREAD, outlier_factor=self.factor, seed=self.seed
        )

    @property
    def promise(self) -> dict[str, Any]:
        """What the noise keeps, as functions of `income_example` ask for it."""
        return {"mechanism": self.noise, "epsilon": self.epsilon, "delta": self.delta}


@dataclass(frozen=True, eq=False)
class Guessed:
    """What the attacker achieved on the outlier and on one resident; the release's own ε comes last in both.

    `best` is the exact success of the best attack on anybody: on the outlier, who moves the mean most.
    """

    outlier: towns.Played
    resident: towns.Played
    best: float


def played(release: TownRelease, people: towns.Town, share: float, releases: int, *before: float) -> Guessed:
    """Everybody's releases at each ε, the release's own last, from one set of coins and noises."""
    asked = release.promise | {"epsilon": np.array([*before, release.epsilon]), "seed": release.seed}
    outlier, resident = (
        towns.play(income, limit=people.limit, releases=releases, confidence=0.99, **asked)
        for income in (people.outlier, people.resident(share))
    )
    return Guessed(outlier, resident, float(towns.guess_success(1.0, **release.promise)))


def delta_kept(noise: str, delta: float) -> float:
    """The δ of the release: Laplace noise has none."""
    return delta if noise == "gaussian" else 0.0


def bound(a: Answer[Any]) -> float:
    """Right guesses that the release's (ε, δ) alone allows."""
    g = a.given
    return float(dpviz.attack_success(g["epsilon"], delta=delta_kept(g["noise"], g["delta"])))


def promised(a: Answer[Any]) -> str:
    return "ε and δ alone" if a.given["noise"] == "gaussian" else "ε alone"


def promise(a: Answer[Any]) -> str:
    g = a.given
    failure = f", δ = {numbers.delta(g['delta'])}" if g["noise"] == "gaussian" else ""
    return f"{NOISES[g['noise']]} noise, <b>ε = {numbers.plain(g['epsilon'])}</b>{failure}"


def measured(p: float) -> str:
    return f"{100 * p:.1f} %"


def interval(low: float, high: float) -> str:
    return f"99 % interval {100 * low:.1f} – {100 * high:.1f} %"


def metrics(a: Answer[Guessed]) -> list[Metric]:
    """What was measured, beside what is allowed."""
    o, r = a.facts.outlier, a.facts.resident
    sure = "–" if o.sure[-1] != o.sure[-1] else measured(o.sure[-1])
    return [
        Metric("Best attack is right", f"≤ {at_most(a.facts.best)}", f"{promised(a)}: {at_most(bound(a))}"),
        Metric("Outlier, all guesses", measured(o.accuracy[-1]), interval(o.accuracy_low[-1], o.accuracy_high[-1])),
        Metric("Outlier, sure claims", sure, interval(o.sure_low[-1], o.sure_high[-1])),
        Metric(
            f"Resident at {numbers.plain(a.given['share'])}",
            measured(r.accuracy[-1]),
            interval(r.accuracy_low[-1], r.accuracy_high[-1]),
        ),
    ]


def formulas(a: Answer[Any]) -> list[tuple[str, str]]:
    g = a.given
    sure = float(dpviz.sure_success(g["epsilon"], hit_rate=0.5, delta=delta_kept(g["noise"], g["delta"])))
    chance = r"1-\tfrac12 e^{-\varepsilon/2}" if g["noise"] == "laplace" else r"\Phi\left(\tfrac1{2\sigma}\right)"
    return [
        ("All guesses about the outlier, exact", rf"{chance} = {a.facts.best:.6g}"),
        (
            "Claims beyond the outlier's mean (Triastcyn & Faltings 2020, §3, r = ½)",
            rf"\frac{{r}}{{r + (r-\delta)e^{{-\varepsilon}}}} \ \text{{at most}} = {sure:.6g}",
        ),
    ]


def controls(noise: str) -> tuple[Item, ...]:
    """ε and the noise, with δ where the noise has one."""
    return (EPSILON, NOISE, *((DELTA,) if noise == "gaussian" else ()))


def about(
    key: str,
    title: str,
    answer: Callable[..., Answer[Any]],
    headline: Callable[[Answer[Any]], str],
    notes: Callable[[Answer[Any]], list[Note]] = lambda _: [],
    *presets: Preset,
    **own: Field[Any],
) -> Question[Any]:
    """A question about releases that are played; its `own` fields stand under Show."""

    def layout(get: Reader) -> Groups:
        return {
            "Question": (*controls(get(NOISE)), SHARE),
            "Town": (FACTOR, RESIDENTS, *experts(RELEASES, SEED)),
            "Show": experts(*own.values(), IMAGE),
        }

    return Question(
        key=key,
        title=title,
        settings=SETTINGS | {"share": SHARE, "releases": RELEASES, **own},
        answer=answer,
        headline=headline,
        metrics=metrics,
        notes=notes,
        formulas=formulas,
        assumptions=ASSUMPTIONS,
        presets=presets,
        layout=layout,
    )

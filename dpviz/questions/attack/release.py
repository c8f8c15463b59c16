"""The town's noisy mean: what three questions share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dpviz
from dpviz.accounting.bayesian import income_example as towns
from dpviz.charts import numbers
from dpviz.questions.answer import Answer, Metric
from dpviz.questions.attack.fields import EPSILON, FACTOR, NOISE, RELEASES, RESIDENTS, SEED, SHARE
from dpviz.questions.attack.words import at_most
from dpviz.questions.layout import Item, experts
from dpviz.questions.mechanism import DELTA
from dpviz.questions.question import Setting

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


@dataclass(frozen=True, eq=False)
class Guessed:
    """What the attacker achieved on the outlier and on one resident; the release's own ε comes last in both.

    `best` is the exact success of the best attack on anybody: on the outlier, who moves the mean most.
    """

    outlier: towns.Played
    resident: towns.Played
    best: float


def draw(*, residents: int, factor: float, seed: int) -> towns.Town:
    return towns.draw_town(residents=residents, median=MEDIAN, spread=SPREAD, outlier_factor=factor, seed=seed)


def played(
    town: towns.Town, share: float, epsilon: Any, *, noise: str, delta: float, releases: int, seed: int
) -> Guessed:
    """Everybody's releases at each ε, from one set of coins and noises."""
    options: dict[str, Any] = {
        "limit": town.limit,
        "mechanism": noise,
        "delta": delta,
        "releases": releases,
        "seed": seed,
    }
    outlier, resident = (
        towns.play(income, epsilon=epsilon, confidence=0.99, **options)
        for income in (town.outlier, town.resident(share))
    )
    last = outlier.epsilon[-1]
    return Guessed(outlier, resident, float(towns.guess_success(1.0, mechanism=noise, epsilon=last, delta=delta)))


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


TOWN_CONTROLS: tuple[Item, ...] = (FACTOR, RESIDENTS, *experts(RELEASES, SEED))
PLAYED_SETTINGS = SETTINGS | {"share": SHARE, "releases": RELEASES}

"""The town of Triastcyn & Faltings 2020, §3: what an attacker sees of its noisy mean, and how often they are right."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.accounting.attack import income_example as towns
from dpviz.charts import look
from dpviz.charts.marks import Line, Region, Ring
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.fields.declared import choice, number
from dpviz.fields.field import Field
from dpviz.questions.answer import Answer, Metric
from dpviz.questions.attack.success import EPSILON, LARGEST
from dpviz.questions.layout import Expert, Groups, Item, Reader, experts
from dpviz.questions.mechanism import DELTA
from dpviz.questions.presets import Preset, presets
from dpviz.questions.question import Question, Setting
from dpviz.questions.shared import IMAGE
from dpviz.questions.words import words

NOISE, PEOPLE, FACTOR, SEED = choice("anoise"), number("apeople"), number("afactor"), number("aseed")
SHARE, RELEASES = number("ashare"), number("aruns")
MEDIAN, SPREAD = 30.0, 0.6  # thousand a year; the spread of log incomes in many countries
ORDERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)  # a town costs little: large λ decide
SETTINGS: dict[str, Setting] = {
    "epsilon": EPSILON,
    "noise": NOISE,
    "delta": DELTA,
    "residents": PEOPLE,
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

    @property
    def delta_kept(self) -> float:
        """The δ of the release: Laplace noise has none."""
        return self.delta if self.noise == "gaussian" else 0.0

    @property
    def words(self) -> str:
        failure = f", δ = {numbers.delta(self.delta)}" if self.noise == "gaussian" else ""
        return f"{self.noise.capitalize()} noise, <b>ε = {numbers.plain(self.epsilon)}</b>{failure}"


@dataclass(frozen=True, eq=False)
class Guessed:
    """What the attacker achieved on the outlier and on one resident; the release's own ε comes last in both.

    `best` is the exact success of the best attack on anybody: on the outlier, who moves the mean most.
    """

    release: TownRelease
    outlier: towns.Played
    resident: towns.Played
    best: float

    @property
    def promise(self) -> str:
        return self.release.words

    @property
    def promised(self) -> str:
        return "ε and δ alone" if self.release.noise == "gaussian" else "ε alone"

    @property
    def bound(self) -> float:
        """Right guesses that the release's (ε, δ) alone allows."""
        return float(dpviz.attack_success(self.release.epsilon, delta=self.release.delta_kept))

    @property
    def most_sure(self) -> float:
        """Right ones of sure claims that it allows."""
        return float(dpviz.sure_success(self.release.epsilon, hit_rate=0.5, delta=self.release.delta_kept))

    @property
    def too_good(self) -> list[str]:
        """About whom the attacker was right more often than the bound, for certain."""
        o, bound = self.outlier, self.bound
        above = {
            "the outlier": o.accuracy_low[-1] > bound or o.sure_low[-1] > self.most_sure,
            "the resident": self.resident.accuracy_low[-1] > bound,
        }
        return [who for who, more in above.items() if more]

    def measured(self, shares: Array) -> str:
        """The release's own share."""
        return "–" if math.isnan(shares[-1]) else f"{100 * shares[-1]:.1f} %"

    def figures(self, share: float) -> list[Metric]:
        """What was measured, beside what is allowed."""
        o, r = self.outlier, self.resident
        allowed = f"{self.promised}: {numbers.probability(self.bound, up=True)}"
        return [
            Metric("Best attack is right", f"≤ {numbers.probability(self.best, up=True)}", allowed),
            *(
                Metric(name, self.measured(value), f"99 % interval {100 * low[-1]:.1f} – {100 * high[-1]:.1f} %")
                for name, value, low, high in (
                    ("Outlier, all guesses", o.accuracy, o.accuracy_low, o.accuracy_high),
                    ("Outlier, sure claims", o.sure, o.sure_low, o.sure_high),
                    (f"Resident at {numbers.plain(share)}", r.accuracy, r.accuracy_low, r.accuracy_high),
                )
            ),
        ]

    @property
    def formulas(self) -> list[tuple[str, str]]:
        laplace = self.release.noise == "laplace"
        chance = r"1-\tfrac12 e^{-\varepsilon/2}" if laplace else r"\Phi\left(\tfrac1{2\sigma}\right)"
        return [
            ("All guesses about the outlier, exact", rf"{chance} = {self.best:.6g}"),
            (
                "Claims beyond the outlier's mean (Triastcyn & Faltings 2020, §3, r = ½)",
                rf"\frac{{r}}{{r + (r-\delta)e^{{-\varepsilon}}}} \ \text{{at most}} = {self.most_sure:.6g}",
            ),
        ]


def played(release: TownRelease, people: towns.Town, share: float, releases: int, *before: float) -> Guessed:
    """Everybody's releases at each ε, the release's own last, from one set of coins and noises."""
    options = release.promise | {"epsilon": np.array([*before, release.epsilon]), "seed": release.seed}
    outlier, resident = (
        towns.play(income, limit=people.limit, releases=releases, confidence=0.99, **options)
        for income in (people.outlier, people.resident(share))
    )
    return Guessed(release, outlier, resident, float(towns.guess_success(1.0, **release.promise)))


at_most = partial(numbers.probability, up=True)


def town(*, share: float, releases: int, largest: float, **setting: Any) -> Answer[Guessed]:
    """Right guesses, measured, against ε, and what (ε, δ) alone allows; other keywords as in `TownRelease`."""
    release = TownRelease(**setting)
    epsilon = release.epsilon
    x = np.linspace(0.0, max(largest, 1.25 * epsilon), 81)[1:]
    facts = played(release, release.town(), share, releases, *x)
    o, r = facts.outlier, facts.resident
    allowed = np.asarray(dpviz.attack_success(x, delta=release.delta_kept))
    lines = (
        Line(
            "bound",
            "bound of (ε, δ)",
            x,
            allowed,
            look.SOLID,
            color=look.GREEN,
            kept=False,
            write=partial(numbers.probability, up=True),
        ),
        Line("sure", "outlier, sure claims", x, o.sure[:-1], look.SOLID, color=look.BROWN, kept=False),
        Line("outlier", "outlier", x, o.accuracy[:-1], look.SOLID, color=look.ORANGE),
        Line("resident", "resident", x, r.accuracy[:-1], look.SOLID, color=look.BLUE, kept=False),
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
            (f"right_{who}_{side}", getattr(played_by, f"{what}_{side}")[:-1])
            for who, played_by, what in (("outlier", o, "accuracy"), ("resident", r, "accuracy"), ("sure", o, "sure"))
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
        summary=f"Centred at {numbers.plain(without)} without the outlier and {numbers.plain(there)} with.",
    )
    return Answer(plot, Seen(**vars(facts), without=without, there=there, scale=scale))


def density(z: np.ndarray, noise: str) -> np.ndarray:
    """Of noise of unit scale."""
    if noise == "laplace":
        return np.asarray(np.exp(-np.abs(z)) / 2.0)
    return np.asarray(np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi))


@dataclass(frozen=True)
class ResidentFacts:
    """The release in words; ε of resident and richest; Bayesian ε_μ for 99 % (NaN: none); whether γ eats any."""

    promise: str
    own: float
    richest: float
    most: float
    cut: bool


def residents(*, share: float, **setting: Any) -> Answer[ResidentFacts]:
    """ε against the share of residents that is left out, x = 1 − p; other keywords as in `TownRelease`."""
    release = TownRelease(**setting)
    people, epsilon, delta = release.town(), release.epsilon, release.delta
    x = np.geomspace(1e-5, 0.9, 31)
    own = towns.own_epsilon(np.quantile(people.incomes, 1.0 - x), limit=people.limit, **release.promise)
    lines = [
        Line("dp", "ε of the release", x, np.full(x.shape, epsilon), look.SOLID, color=look.GREEN, kept=False),
        Line("own", "own ε (knowing all)", x, own, look.SOLID, color=look.BLUE),
    ]
    most, cut = math.nan, False
    if release.noise == "gaussian":
        # Triastcyn & Faltings 2020, §4.4.1: δ_μ = δ(1 − p) gives the share p of the data δ.
        kept = delta * x > 2e-15  # below γ = 1e-15 the estimate itself may fail
        bayesian = np.full(x.shape, np.nan)
        if kept.any():
            bayesian[kept] = dpviz.bayesian_epsilon(
                people.incomes,
                noise_std=float(towns.noise_scale(**release.promise)) * people.limit,
                sample_rate=1.0,
                steps=np.ones(int(kept.sum())),
                delta_mu=delta * x[kept],
                orders=ORDERS,
            )
        lines.append(Line("bayesian", "Bayesian DP", x, bayesian, "bayesian", color=look.ORANGE))
        # The value at the nearest share that leaves out no more than 1 %: never too favourable.
        most, cut = float(bayesian[int(np.searchsorted(x, 0.01 * (1 + 1e-12), side="right")) - 1]), not kept.all()
    some = towns.own_epsilon([people.resident(share), people.incomes[-1]], limit=people.limit, **release.promise)
    plot = LinePlot(
        x=Axis(
            "share of residents left out, 1 − p",
            name="share left out, 1 − p",
            column="left_out",
            log=True,
            kind="delta",
            hover="1 − p = %{x:.3~g}",
            write=lambda v: numbers.plain(v, digits=4),
            marks=(1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.25, 0.5, 0.9),
        ),
        y=Axis(
            "ε at δ",
            name="ε",
            column="epsilon",
            log=True,
            reading="attack",
            write=lambda v: numbers.epsilon(v, digits=4, up=True),
        ),
        lines=tuple(lines),
    )
    return Answer(plot, ResidentFacts(release.words, float(some[0]), float(some[1]), most, cut))


def controls(noise: str) -> tuple[Item, ...]:
    """ε and the noise, with δ where the noise has one."""
    return (EPSILON, NOISE, *((DELTA,) if noise == "gaussian" else ()))


def about(key: str, answer: Callable[..., Answer[Any]], *presets: Preset, **own: Field[Any]) -> Question[Any]:
    """A question about releases that are played; its `own` fields stand under Show."""

    def layout(get: Reader) -> Groups:
        return {
            "Question": (*controls(get(NOISE)), SHARE),
            "Town": (FACTOR, PEOPLE, *experts(RELEASES, SEED)),
            "Show": experts(*own.values(), IMAGE),
        }

    return Question(
        key=key,
        settings=SETTINGS | {"share": SHARE, "releases": RELEASES, **own},
        answer=answer,
        presets=presets,
        layout=layout,
        **words("attack", key),
    )


TOWN = about("town", town, *presets("bdptown"), largest=LARGEST)
SEEN = about("releases", seen)
RESIDENTS: Question[ResidentFacts] = Question(
    key="residents",
    settings=SETTINGS | {"share": SHARE},
    answer=residents,
    presets=presets("bdppercentile"),
    layout=lambda get: {
        "Question": (*controls(get(NOISE)), SHARE),
        "Town": (FACTOR, PEOPLE, Expert(SEED)),
        "Show": experts(IMAGE),
    },
    **words("attack", "residents"),
)

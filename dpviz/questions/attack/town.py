"""The town of Triastcyn & Faltings 2020, §3: what an attacker sees of its noisy mean, and how often they are right."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.accounting.attack import income_example as towns
from dpviz.accounting.bayesian.accountant import NAME as BAYESIAN
from dpviz.charts import Region, Ring
from dpviz.fields import choice, number, numbers
from dpviz.questions import DELTA, Answer, Groups, Question, Reader, annotated, chart, experts, make_question, style
from dpviz.questions.attack.success import EPSILON, LARGEST

NOISE, PEOPLE, FACTOR, SEED = choice("anoise"), number("apeople"), number("afactor"), number("aseed")
SHARE, RELEASES = number("ashare"), number("aruns")
MEDIAN, SPREAD = 30.0, 0.6  # thousand a year; the spread of log incomes in many countries
ORDERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)  # a town costs little: large λ decide


@dataclass(frozen=True)
class TownRelease:
    """The town's mean, released once: the settings that all questions about it have."""

    epsilon: Annotated[float, EPSILON]
    noise: Annotated[str, NOISE]
    delta: Annotated[float, DELTA]
    residents: Annotated[int, PEOPLE]
    factor: Annotated[float, FACTOR]
    seed: Annotated[int, SEED]

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
        outlier, bound = self.outlier, self.bound
        above = {
            "the outlier": outlier.accuracy_low[-1] > bound or outlier.sure_low[-1] > self.most_sure,
            "the resident": self.resident.accuracy_low[-1] > bound,
        }
        return [who for who, more in above.items() if more]

    @property
    def measured(self) -> dict[str, tuple[Array, Array, Array]]:
        """Line of the chart → share of right guesses, and the ends of its interval; at every ε."""
        o, r = self.outlier, self.resident
        return {
            "outlier": (o.accuracy, o.accuracy_low, o.accuracy_high),
            "resident": (r.accuracy, r.accuracy_low, r.accuracy_high),
            "sure": (o.sure, o.sure_low, o.sure_high),
        }


def played(release: TownRelease, people: towns.Town, share: float, releases: int, *before: float) -> Guessed:
    """Everybody's releases at each ε, the release's own last, from one set of coins and noises."""
    options = release.promise | {"epsilon": np.array([*before, release.epsilon]), "seed": release.seed}
    outlier, resident = (
        towns.play(income, limit=people.limit, releases=releases, confidence=0.99, **options)
        for income in (people.outlier, people.resident(share))
    )
    return Guessed(release, outlier, resident, float(towns.guess_success(1.0, **release.promise)))


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
    curves = {name: facts.measured[name][0][:-1] for name in ("sure", "outlier", "resident")}
    curves = {"bound": np.asarray(dpviz.attack_success(x, delta=release.delta_kept))} | curves
    lowest = min(float(np.nanmin(curve, initial=1.0)) for curve in curves.values())
    plot = chart(
        "attack",
        "town",
        x,
        curves,
        x_axis={"shown": (0.0, float(x[-1]))},
        y_axis={"shown": (min(0.48, lowest - 0.02), 1.02)},
        rings=tuple(
            ring(name, release.epsilon, *(float(values[-1]) for values in measured))
            for name, measured in facts.measured.items()
            if not math.isnan(measured[0][-1])
        ),
        more=tuple(
            (f"right_{name}_{side}", values[:-1])
            for name, (_, low, high) in facts.measured.items()
            for side, values in (("low", low), ("high", high))
        ),
    )
    return Answer(plot, facts)


def ring(name: str, epsilon: float, value: float, low: float, high: float) -> Ring:
    """What was measured at the release's own ε."""
    share, *ends = (numbers.probability(each) for each in (value, low, high))
    text = f"measured, {'sure claims' if name == 'sure' else name}: {share} (99 % interval {' to '.join(ends)})"
    return Ring(epsilon, value, text, style("attack", "town", name)["color"], low, high)


@dataclass(frozen=True, eq=False)
class Seen(Guessed):
    """Also the mean without and with the outlier, and the noise's scale; in thousands."""

    without: float
    there: float
    scale: float


def seen(*, share: Annotated[float, SHARE], releases: Annotated[int, RELEASES], **setting: Any) -> Answer[Seen]:
    """Both densities, and the threshold between them; other keywords as in `TownRelease`."""
    release = TownRelease(**setting)
    people, noise = release.town(), release.noise
    facts = played(release, people, share, releases)
    scale = float(towns.noise_scale(**release.promise)) * people.limit / release.residents
    without = float(people.incomes.sum()) / release.residents
    there = without + people.outlier / release.residents
    tail = 5.0 if noise == "laplace" else 3.2
    x = np.unique(np.r_[np.linspace(without - tail * scale, there + tail * scale, 241), without, there])
    curves = {key: density((x - mean) / scale, noise) / scale for key, mean in (("without", without), ("with", there))}
    plot = chart(
        "attack",
        "releases",
        x,
        curves,
        x_axis={"shown": (float(x[0]), float(x[-1]))},
        y_axis={"shown": (0.0, 1.25 * max(float(curve.max()) for curve in curves.values()))},
        regions=(Region(0.5 * (without + there), math.inf, "here the attacker says: the outlier is in town"),),
        summary=f"Centred at {numbers.plain(without)} without the outlier and {numbers.plain(there)} with.",
    )
    return Answer(plot, Seen(**vars(facts), without=without, there=there, scale=scale))


def density(z: Array, noise: str) -> Array:
    """Of noise of unit scale."""
    if noise == "laplace":
        return np.asarray(np.exp(-np.abs(z)) / 2.0)
    return np.asarray(np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi))


@dataclass(frozen=True)
class ResidentFacts:
    """The release; ε of resident and richest; Bayesian ε_μ for 99 % (NaN: none); whether γ eats any."""

    release: TownRelease
    own: float
    richest: float
    most: float
    cut: bool


def residents(*, share: Annotated[float, SHARE], **setting: Any) -> Answer[ResidentFacts]:
    """ε against the share of residents that is left out, x = 1 − p; other keywords as in `TownRelease`."""
    release = TownRelease(**setting)
    people, epsilon, delta = release.town(), release.epsilon, release.delta
    x = np.geomspace(1e-5, 0.9, 31)
    own = towns.own_epsilon(np.quantile(people.incomes, 1.0 - x), limit=people.limit, **release.promise)
    curves = {"dp": np.full(x.shape, epsilon), "own": own}
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
        curves[BAYESIAN] = bayesian
        # The value at the nearest share that leaves out no more than 1 %: never too favourable.
        most, cut = float(bayesian[int(np.searchsorted(x, 0.01 * (1 + 1e-12), side="right")) - 1]), not kept.all()
    some = towns.own_epsilon([people.resident(share), people.incomes[-1]], limit=people.limit, **release.promise)
    facts = ResidentFacts(release, float(some[0]), float(some[1]), most, cut)
    return Answer(chart("attack", "residents", x, curves), facts)


def about(key: str, answer: Callable[..., Answer[Any]], *presets: str) -> Question[Any]:
    """A question about the town."""
    own = annotated(answer)

    def layout(get: Reader) -> Groups:
        delta = (DELTA,) if get(NOISE) == "gaussian" else ()
        return {
            "Question": (EPSILON, NOISE, *delta, SHARE),
            "Town": (FACTOR, PEOPLE, *experts(*((RELEASES,) if "releases" in own else ()), SEED)),
            "Show": experts(*((LARGEST,) if "largest" in own else ())),
        }

    return make_question(f"attack/{key}", answer, layout, annotated(TownRelease), presets=presets)


TOWN = about("town", town, "bdptown")
SEEN = about("releases", seen)
RESIDENTS = about("residents", residents, "bdppercentile")

"""The town of Triastcyn & Faltings 2020, §3: its mean income is released once, with noise, and an attacker guesses."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, NamedTuple, TypeVar

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.accounting.attack import income_example as towns
from dpviz.fields import choice, number, numbers
from dpviz.questions import (
    DELTA,
    Answer,
    Formula,
    Layout,
    Metric,
    Question,
    Reader,
    Words,
    annotated,
    experts,
    published,
)
from dpviz.questions.attack.success import EPSILON, LARGEST

F = TypeVar("F")
NOISE, PEOPLE, FACTOR, SEED = choice("anoise"), number("apeople"), number("afactor"), number("aseed")
SHARE, RELEASES = number("ashare"), number("aruns")
MEDIAN, SPREAD = 30.0, 0.6  # thousand a year; the spread of log incomes in many countries


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
    def gaussian(self) -> bool:
        """Whether the noise is Gaussian, not Laplace."""
        return self.noise == "gaussian"

    @property
    def noise_scale(self) -> float:
        """The noise of the sum ÷ the largest income that counts (`income_example.noise_scale`)."""
        return float(towns.noise_scale(mechanism=self.noise, epsilon=self.epsilon, delta=self.delta))

    def own_epsilon(self, incomes: Array, limit: float) -> Array:
        """The ε that the release costs those with these incomes (`income_example.own_epsilon`)."""
        return towns.own_epsilon(incomes, limit=limit, mechanism=self.noise, epsilon=self.epsilon, delta=self.delta)

    @property
    def delta_kept(self) -> float:
        """The δ of the release: Laplace noise has none."""
        return self.delta if self.gaussian else 0.0

    @property
    def in_words(self) -> str:
        """The noise with its ε, and δ where it has one, as HTML."""
        delta = f", δ = {numbers.delta(self.delta)}" if self.gaussian else ""
        return f"{self.noise.capitalize()} noise at <b>ε = {numbers.entered(self.epsilon)}</b>{delta}"


class MeasuredShare(NamedTuple):
    """A share of right guesses at every ε, and the ends of its 99 % interval; shape (n,) each."""

    share: Array
    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class Guessed:
    """What the attacker achieved on the outlier and on one resident; the release's own ε comes last in both.

    Attributes:
        quantile: of the incomes, at which the resident is.
        best: the exact success of the best attack on anybody: on the outlier, who moves the mean most.
    """

    release: TownRelease
    quantile: float
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
        return float(dpviz.papers.sure_success(self.release.epsilon, hit_rate=0.5, delta=self.release.delta_kept))

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
    def measured(self) -> dict[str, MeasuredShare]:
        """Line of the chart → what was measured."""
        o, r = self.outlier, self.resident
        return {
            "outlier": MeasuredShare(o.accuracy, o.accuracy_low, o.accuracy_high),
            "resident": MeasuredShare(r.accuracy, r.accuracy_low, r.accuracy_high),
            "sure": MeasuredShare(o.sure, o.sure_low, o.sure_high),
        }


def played(release: TownRelease, people: towns.Town, quantile: float, releases: int, *before: float) -> Guessed:
    """Everybody's releases at each ε, the release's own last, from one set of coins and noises."""
    outlier, resident = (
        towns.play(
            income,
            limit=people.limit,
            mechanism=release.noise,
            epsilon=np.array([*before, release.epsilon]),
            delta=release.delta,
            releases=releases,
            seed=release.seed,
            confidence=0.99,
        )
        for income in (people.outlier, people.resident(quantile))
    )
    best = towns.guess_success(1.0, mechanism=release.noise, epsilon=release.epsilon, delta=release.delta)
    return Guessed(release, quantile, outlier, resident, float(best))


def guess_metrics(f: Guessed) -> Iterator[Metric]:
    pair = "ε and δ" if f.release.gaussian else "ε"
    yield Metric(
        "Best attack accuracy", f"≤ {numbers.chance_up(f.best)}", f"{pair} alone: {numbers.chance_up(f.bound)}"
    )
    names = {
        "outlier": "Outlier, all guesses",
        "sure": "Outlier, sure claims",
        "resident": f"Resident at {numbers.plain(f.quantile)}",
    }
    for key, name in names.items():
        share, low, high = (float(values[-1]) for values in f.measured[key])
        yield Metric(name, numbers.tenths(share), f"99 % interval {100 * low:.1f} – {100 * high:.1f} %")


def guess_formulas(f: Guessed) -> Iterator[Formula]:
    exact = r"\Phi\left(\tfrac1{2\sigma}\right)" if f.release.gaussian else r"1-\tfrac12 e^{-\varepsilon/2}"
    yield Formula("All guesses about the outlier, exact", rf"{exact} = {numbers.at_most(f.best, 6)}")
    yield Formula(
        "Claims beyond the outlier's mean (Triastcyn & Faltings 2020, §3, r = ½)",
        rf"\frac{{r}}{{r + (r-\delta)e^{{-\varepsilon}}}} \ \text{{at most}} = {numbers.at_most(f.most_sure, 6)}",
    )


def town_question(
    key: str, title: str, answer: Callable[..., Answer[F]], words: Words[F], *presets: str, asks: str
) -> Question[F]:
    """A question about the town: the settings of the release, and those of `answer`."""
    own = annotated(answer)

    def layout(get: Reader) -> Layout:
        delta = (DELTA,) if get(NOISE) == "gaussian" else ()
        people = (
            (PEOPLE,) if key != "town" else experts(PEOPLE)
        )  # whatever their number, the attacker is as often right
        return {
            "Question": (EPSILON, NOISE, *delta, SHARE),
            "Town": (FACTOR, *people, *experts(*((RELEASES,) if "releases" in own else ()), SEED)),
            "Show": experts(*((LARGEST,) if "largest" in own else ())),
        }

    settings = annotated(TownRelease)
    return Question(key, title, answer, words, asks=asks, settings=settings, presets=published(*presets), layout=layout)

"""The cost of the town's release to each resident, and what Bayesian DP promises to most: who loses how much?"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.accounting.attack import income_example as towns
from dpviz.accounting.methods import BAYESIAN
from dpviz.charts import Axis, Line, LinePlot, Ring, look
from dpviz.fields import numbers
from dpviz.questions import Answer, Formula, Metric, Note, Words
from dpviz.questions.attack.shared import ASSUMPTIONS
from dpviz.questions.attack.town_release import SHARE, TownRelease, town_question

ORDERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)  # a town costs little: large λ decide
LEAST_DELTA = 2e-15  # below γ = 1e-15 the estimate itself may fail


@dataclass(frozen=True)
class ResidentFacts:
    """What the release costs whom.

    Attributes:
        quantile: of the incomes, at which the resident is.
        own: ε of the resident.
        richest: ε of the richest but the outlier.
        most: Bayesian ε_μ for 99 %; NaN for none.
        cut: whether γ leaves nothing of δ_μ at some shares.
    """

    release: TownRelease
    quantile: float
    own: float
    richest: float
    most: float
    cut: bool


def residents(*, share: Annotated[float, SHARE], **setting: Any) -> Answer[ResidentFacts]:
    """ε against the share of residents that is left out, x = 1 − p; other keywords as in `TownRelease`."""
    release = TownRelease(**setting)
    people = release.town()
    x = np.geomspace(1e-5, 0.9, 31)
    own = release.own_epsilon(np.quantile(people.incomes, 1.0 - x), people.limit)
    lines = [
        Line("dp", "ε of the release", x, np.full(x.shape, release.epsilon), look.SOLID, color=look.BROWN, kept=False),
        Line("own", "own ε (knowing all)", x, own, look.SOLID, color=look.BLUE),
    ]
    most, cut = math.nan, False
    if release.gaussian:
        promised = bayesian_along(x, release, people)
        lines.append(Line(BAYESIAN, "Bayesian DP (weaker)", x, promised, BAYESIAN))
        # The value at the nearest share that leaves out no more than 1 %: never too favourable.
        most = float(promised[int(np.searchsorted(x, 0.01 * (1 + 1e-12), side="right")) - 1])
        cut = bool((release.delta * x <= LEAST_DELTA).any())
    some = release.own_epsilon(np.array([people.resident(share), people.incomes[-1]]), people.limit)
    plot = LinePlot(
        x=Axis(
            "share of residents not covered, 1 − p",
            name="share not covered, 1 − p",
            column="left_out",
            log=True,
            kind="delta",
            hover="1 − p = %{x:.3~g}",
            write=partial(numbers.plain, digits=4),
            marks=(1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.25, 0.5, 0.9),
        ),
        y=Axis("ε at δ", name="ε", column="epsilon", log=True, reading="attack", write=partial(numbers.up, digits=4)),
        lines=tuple(lines),
        rings=(ring(share, float(some[0])),),
        end_values=False,
    )
    return Answer(plot, ResidentFacts(release, share, float(some[0]), float(some[1]), most, cut))


def ring(share: float, own: float) -> Ring:
    """What the release costs the resident at this quantile of the incomes."""
    text = f"own ε of the resident at quantile {numbers.plain(share)}"
    return Ring(1.0 - share, own, text, look.BLUE, name=f"ε {numbers.up(own)}")


def bayesian_along(x: Array, release: TownRelease, people: towns.Town) -> Array:
    """ε_μ for all but a share x; NaN where γ leaves nothing of δ_μ.

    δ_μ = δ(1 − p) gives the share p of the data δ (Triastcyn & Faltings 2020, §4.4.1).
    """
    kept = release.delta * x > LEAST_DELTA
    epsilon: Array = np.full(x.shape, np.nan)
    if kept.any():
        epsilon[kept] = dpviz.bayesian_epsilon(
            people.incomes,
            noise_std=release.noise_scale * people.limit,
            sample_rate=1.0,
            steps=np.ones(int(kept.sum())),
            delta_mu=release.delta * x[kept],
            orders=ORDERS,
        )
    return epsilon


def headline(f: ResidentFacts) -> str:
    delta = f" (δ = {numbers.delta(f.release.delta)})" if f.release.gaussian else ""
    return (
        f"The release guarantees <b>ε = {numbers.at_most(f.release.epsilon)}</b>{delta} to everyone, but it costs the "
        f"resident at quantile {numbers.plain(f.quantile)} only <b>ε = {numbers.up(f.own)}</b>."
    )


def metrics(f: ResidentFacts) -> Iterator[Metric]:
    yield Metric("ε for everyone", numbers.at_most(f.release.epsilon), f"{f.release.noise.capitalize()} noise")
    yield Metric(f"Own ε at quantile {numbers.plain(f.quantile)}", numbers.up(f.own), "computed from all incomes")
    yield Metric("Own ε of the richest", numbers.up(f.richest), "apart from the outlier")
    name = "Bayesian DP for 99 % of such people"
    if not math.isnan(f.most):
        yield Metric(name, f"≈ {numbers.up(f.most)}", "estimate, no bound")


def notes(f: ResidentFacts) -> Iterator[Note]:
    if not f.release.gaussian:
        yield Note("Bayesian DP needs Gaussian noise: choose it to see its curve.")
        return
    yield Note(
        "Own ε depends on secret incomes, so it is an explanation, not a guarantee. Bayesian DP (λ ≤ 128) can be a "
        "guarantee, but here it is the asymptotic estimate as printed, which is not a bound.",
        "caution",
    )
    if f.cut:
        yield Note("Bayesian DP has no value where δ(1 − p) ≤ 2e-15, because γ uses up all of δ_μ.", "caution")


def formulas(f: ResidentFacts) -> Iterator[Formula]:
    yield Formula(
        "Percentiles (Triastcyn & Faltings 2020, §4.4.1)",
        r"\Pr_x\left[\Delta(\varepsilon_\mu, x) > \frac{\delta_\mu}{1-p}\right] \le 1-p,\quad"
        rf" \delta_\mu = \delta\,(1-p),\ \delta = {numbers.delta(f.release.delta)}",
    )


RESIDENTS = town_question(
    "residents",
    "The town: who loses how much?",
    residents,
    Words(headline, metrics, notes, formulas, ASSUMPTIONS),
    "bdppercentile",
    asks="own",
)

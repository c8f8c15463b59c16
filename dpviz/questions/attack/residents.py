"""Who loses how much: ε of the release, of each resident's own income, and of Bayesian DP, by share of the town."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz.accounting.attack import income_example as towns
from dpviz.charts import look
from dpviz.charts.marks import Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.questions.answer import Answer, Metric, Note
from dpviz.questions.attack.fields import FACTOR, NOISE, SEED, SHARE
from dpviz.questions.attack.fields import RESIDENTS as PEOPLE
from dpviz.questions.attack.release import NOISES, SETTINGS, TownRelease, controls, promise
from dpviz.questions.attack.words import ASSUMPTIONS
from dpviz.questions.layout import Expert, Groups, Reader, experts
from dpviz.questions.presets import presets
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE

ORDERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)  # a town costs little: large λ decide


@dataclass(frozen=True)
class ResidentFacts:
    """ε of the resident in question and of the richest; Bayesian ε_μ for 99 % (NaN: none); whether γ eats some δ_μ."""

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
        Line("dp", "ε of the release", x, np.full(x.shape, epsilon), "moments", color=look.GREEN, kept=False),
        Line("own", "own ε (knowing all)", x, own, "moments", color=look.BLUE),
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
    return Answer(plot, ResidentFacts(float(some[0]), float(some[1]), most, cut))


def headline(a: Answer[ResidentFacts]) -> str:
    f = a.facts
    said = (
        f"{promise(a)} for everybody, outlier included. The resident at quantile {numbers.plain(a.given['share'])} "
        f"loses only <b>ε = {numbers.epsilon(f.own, up=True)}</b>, the richest resident "
        f"<b>{numbers.epsilon(f.richest, up=True)}</b>."
    )
    if not math.isnan(f.most):
        text = numbers.epsilon(f.most, up=True)
        said += f" For 99 % of such people Bayesian DP estimates <b>ε ≈ {text}</b>, as printed and no bound."
    return said


def metrics(a: Answer[ResidentFacts]) -> list[Metric]:
    g, f = a.given, a.facts
    weak = "–" if math.isnan(f.most) else f"≈ {numbers.epsilon(f.most, up=True)}"
    return [
        Metric("ε for everybody", numbers.plain(g["epsilon"]), NOISES[g["noise"]] + " noise"),
        Metric(
            f"Own ε at quantile {numbers.plain(g['share'])}",
            numbers.epsilon(f.own, up=True),
            "one who knows all could compute it",
        ),
        Metric("Own ε of the richest", numbers.epsilon(f.richest, up=True), "outlier apart"),
        Metric("Bayesian DP for 99 %", weak, "of people like these" if weak != "–" else "needs Gaussian noise"),
    ]


def notes(a: Answer[ResidentFacts]) -> list[Note]:
    if a.given["noise"] != "gaussian":
        return [Note("Bayesian DP's accountant is for Gaussian noise: choose it to see its promise.")]
    built = [
        Note(
            "Own ε depends on incomes that are secret: it explains, it is no promise. Bayesian DP (λ ≤ 128) would "
            "be one; here it is the asymptotic estimate as printed, which is no bound."
        )
    ]
    if a.facts.cut:
        text = "Bayesian DP: where δ(1 − p) ≤ 2e-15 the estimator's own failure γ leaves nothing."
        built.append(Note(text, "caution"))
    return built


def formulas(a: Answer[ResidentFacts]) -> list[tuple[str, str]]:
    return [
        (
            "Percentiles (Triastcyn & Faltings 2020, §4.4.1)",
            r"\Pr_x\left[\Delta(\varepsilon_\mu, x) > \frac{\delta_\mu}{1-p}\right] \le 1-p,\quad "
            rf"\delta_\mu = \delta\,(1-p),\ \delta = {numbers.delta(a.given['delta'])}",
        )
    ]


def layout(get: Reader) -> Groups:
    return {"Question": (*controls(get(NOISE)), SHARE), "Town": (FACTOR, PEOPLE, Expert(SEED)), "Show": experts(IMAGE)}


RESIDENTS: Question[ResidentFacts] = Question(
    key="residents",
    title="The town: who loses how much?",
    settings=SETTINGS | {"share": SHARE},
    answer=residents,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=ASSUMPTIONS,
    presets=presets("bdppercentile"),
    layout=layout,
)

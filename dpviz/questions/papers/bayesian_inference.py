"""Bayesian DP, Table 1, Abalone and Adult: what private variational inference reaches at which ε, by recorded runs."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pandas as pd

from dpviz.accounting.methods import BAYESIAN, Moments
from dpviz.charts import Axis, Band, Column, Guide, Line, LinePlot, Point
from dpviz.experiments.record import Spread
from dpviz.fields import choice, numbers
from dpviz.questions import Answer, Block, Formula, Metric, Note, Question, Rerun, Words
from dpviz.questions.printed import BY_KEY
from dpviz.questions.printed.bayesian import LAST_ORDER, PLAIN, Inferred, inferred

TABLE = "Triastcyn & Faltings 2020, Table 1"


@dataclass(frozen=True)
class PrintedRow:
    """A data set's row of the table: ε of DP and of Bayesian DP, accuracy without and with privacy in percent."""

    dp: float
    bayesian: float
    plain: float
    private: float


@dataclass(frozen=True)
class InferenceFacts:
    """What the recorded runs reach.

    Attributes:
        runs: all of them.
        at: the level of least noise with which the moments accountant promises the printed ε of DP.
        reached: accuracies at that level.
        printed: what the paper has.
    """

    runs: Inferred
    at: int
    reached: Spread
    printed: PrintedRow

    @property
    def moments(self) -> float:
        """ε of DP at the level."""
        return float(self.runs.moments[self.at])

    @property
    def strict(self) -> float:
        """The same at δ_μ."""
        return float(self.runs.strict[self.at])

    @property
    def bayesian(self) -> float:
        """ε_μ at the level."""
        return float(self.runs.bayesian[self.at])


def inference(*, data: Annotated[str, choice("pinfer")]) -> Answer[InferenceFacts]:
    """Accuracy against ε, by two accounts of the same runs."""
    runs, printed = inferred(data), printed_row(data)
    at = runs.within(printed.dp)
    return Answer(plot(runs, printed), InferenceFacts(runs, at, runs.accuracy[at], printed))


def printed_row(data: str) -> PrintedRow:
    """The data set's printed values."""

    def value(name: str) -> float:
        return float(BY_KEY[f"bdp-table1-{name}"].printed.removesuffix(" %"))

    return PrintedRow(
        dp=value(f"dp-{data}"),
        bayesian=value(f"bdp-{data}"),
        plain=value(f"accuracy-{data}-0"),
        private=value(f"accuracy-{data}-1"),
    )


def plot(runs: Inferred, printed: PrintedRow) -> LinePlot:
    """Mean accuracy against both ε, the range of all seeds, and the printed values."""
    mean, lowest, highest = (100.0 * np.array(column) for column in zip(*runs.accuracy, strict=True))
    without, dp, bayesian, private = 100.0 * runs.without.mean, printed.dp, printed.bayesian, printed.private
    order = np.argsort(runs.moments)
    noise = (Column("σ", runs.sigma[order], key="sigma"),)
    low, high = min(lowest.min(), private, without), max(highest.max(), private, without)
    shown = (0.8 * min(bayesian, dp, runs.moments.min()), 1.4 * max(runs.bayesian.max(), runs.moments.max(), dp))
    marks = tuple(np.sort(np.concatenate([runs.moments, runs.bayesian])))
    moments, y = runs.moments[order], mean[order]
    weaker = "Bayesian (weaker), δ<sub>μ</sub> = 1e-10"
    return LinePlot(
        x=Axis(
            "ε of the whole run",
            name="ε",
            column="epsilon",
            log=True,
            hover="ε = %{x:,.3~r}",
            shown=shown,
            marks=marks,
        ),
        y=Axis(
            "test accuracy, %",
            name="accuracy",
            column="accuracy_percent",
            shown=(low - 0.5, high + 0.5),
            write=in_percent,
        ),
        lines=(
            Line(Moments.name, "moments, δ = 1e-5", moments, y, Moments.name, hover=noise, write=in_percent),
            Line(BAYESIAN, weaker, runs.bayesian[order], y, BAYESIAN, hover=noise, write=in_percent),
        ),
        bands=(Band("all seeds", moments, lowest[order], highest[order], key="seeds"),),
        points=(
            Point(dp, private, f"{private:g} % at DP's ε = {dp:g}, {TABLE}", Moments.name),
            Point(bayesian, private, f"{private:g} % at Bayesian ε = {bayesian:g}, {TABLE}", BAYESIAN),
        ),
        guides=(Guide("y", without, f"without privacy {in_percent(without)}"),),
        end_values=False,
        names_on_lines=True,
    )


def in_percent(percent: float) -> str:
    """To the first digit behind the point: "76.1 %"."""
    return f"{percent:.1f}\u00a0%"


def headline(f: InferenceFacts) -> str:
    return (
        f"At the printed ε = {f.printed.dp:g}, variational inference reaches <b>{numbers.tenths(f.reached.mean)}</b> "
        f"here (printed: {f.printed.private:g} %); Bayesian DP gives <b>ε_μ = {numbers.up(f.bayesian)}</b>."
    )


def metrics(f: InferenceFacts) -> Iterator[Metric]:
    sigma = f"σ = {f.runs.sigma[f.at]:g}"
    yield accuracy("With privacy", f.reached, f.printed.private)
    yield accuracy("Without", f.runs.without, f.printed.plain)
    yield Metric("DP, moments", numbers.up(f.moments), f"{sigma}; printed {f.printed.dp:g}")
    yield Metric("Bayesian DP", numbers.up(f.bayesian), f"measured; printed {f.printed.bayesian:g}")


def accuracy(name: str, seeds: Spread, printed: float) -> Metric:
    """A mean, with the range of all seeds and what is printed."""
    return Metric(name, numbers.tenths(seeds.mean), f"{ends(seeds)}; printed {printed:g}\u00a0%")


def ends(seeds: Spread) -> str:
    return f"{numbers.tenths(seeds.lowest)} to {numbers.tenths(seeds.highest)}"


def notes(f: InferenceFacts) -> Iterator[Note]:
    yield Note(
        f"Recorded runs: {f.runs.record.made}; make papers repeats them, and dpviz can train single runs again. "
        "Diamonds are printed values. Grey: the range from the lowest to the highest seed."
    )
    clipped = numbers.probability(float(f.runs.clipped[f.at]))
    yield Note(
        f"The two ε hold at different δ: at δ = 1e-10 the moments accountant gives {numbers.up(f.strict)} without "
        f"using any gradient. Bayesian DP can gain little over that, because {clipped} of the gradients have norm C. "
        "The authors add no noise for their Bayesian ε and account for sampling from the posterior instead; the method "
        "is not printed."
    )
    floors = [numbers.at_least(-math.log(f.runs.settings[name]) / LAST_ORDER) for name in ("delta", "delta_mu")]
    yield Note(
        f"With λ up to 32, ε is at least {floors[0]} and ε_μ at least {floors[1]}, which is ln(1/δ)/λ. Near these ends "
        "the curves are vertical: more noise costs accuracy but does not lower ε."
    )


FORMULAS = (
    Formula(
        "Jälkö, Dikmen, Honkela 2017",
        r"-\tfrac{1}{N}\mathrm{ELBO} = \tfrac1N\sum_i -\ln p\big(y_i \mid m + e^{\rho}\eta\big) +"
        r" \tfrac1N\mathrm{KL}\big(\mathcal N(m, e^{2\rho})\,\|\,\mathcal N(0, \tau^2)\big),\quad"
        r" \eta \sim \mathcal N(0, I)",
    ),
)


def assumptions(f: InferenceFacts) -> str:
    run = f.runs.settings
    return f"""
- **Poisson sampling**, expected batch {run["batch_size"]}, T = {run["steps"]}; each example's gradient with respect to
  means and log standard deviations is clipped to C = {run["max_grad_norm"]:g} as one vector. T, q and C are those of
  the scripts of Jälkö et al. 2017; C is divided by N ÷ batch, the factor of gradients in these scripts. Prior N(0, I).
- **Differences:** SGD instead of AdaGrad, features scaled by public ranges, and the usual split. The step size was
  chosen by trial on these data, so accuracies are slightly too high. The paper does not describe its preprocessed
  files. Abalone's label is ten rings or more.
- **ε_μ** is measured with γ = 1e-15, λ up to 32 and the gradients' norms. With these λ, the smallest possible value is
  0.7196, and both printed values are below it.
- **Accuracy** is that of predictions averaged over 16 draws of the posterior. Runs have known seeds, so that they can
  be repeated: they are demonstrations and claim no ε. ε is the cost with secret noise.
"""


def levels(answer: Answer[InferenceFacts]) -> list[Block]:
    """A row for each level of noise."""
    runs = answer.facts.runs
    arms, spreads = (PLAIN, *runs.arms), (runs.without, *runs.accuracy)
    columns = {
        "σ": ["none", *(f"{sigma:g}" for sigma in runs.sigma)],
        "ε, moments": ["–", *map(numbers.up, runs.moments)],
        "ε_μ, Bayesian": ["–", *map(numbers.up, runs.bayesian)],
        "accuracy": [numbers.tenths(seeds.mean) for seeds in spreads],
        "seeds from to": [ends(seeds) for seeds in spreads],
        "of the mean weights": [numbers.tenths(runs.record.spread(arm, "test_accuracy").mean) for arm in arms],
        "clipped": ["–", *(numbers.probability(float(share)) for share in runs.clipped)],
    }
    return [pd.DataFrame(columns)]


INFERENCE = Question(
    "inference",
    "Bayesian DP, Table 1: variational inference on Abalone and Adult",
    inference,
    Words(headline, metrics, notes, lambda _: FORMULAS, assumptions),
    asks="reached",
    more={"The runs": levels, "One run again": lambda answer: (Rerun(answer.facts.runs.record.key),)},
    option="bdpvi",
)

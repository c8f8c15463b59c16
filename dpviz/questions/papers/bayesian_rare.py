"""Bayesian DP, §4.3.1: the probability of a distance that no sample has shown (Triastcyn & Faltings 2020)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.special import betainccinv

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.charts import Axis, Guide, Line, LinePlot, look
from dpviz.fields import number, numbers
from dpviz.questions import Answer, Formula, Metric, Note, Question, Words, published, setting

ZEROS = number("rzeros")


@dataclass(frozen=True)
class RareFacts:
    """Of a distance of C.

    Attributes:
        posterior: ρ̂, its probability by the paper.
        exact: the bound on it that holds for every ρ.
        share: of the sample that it is.
        zeros, ones: how many distances of the sample are 0 and C.
        failure: γ.
    """

    posterior: float
    exact: float
    share: float
    zeros: int
    ones: int
    failure: float


def rare(
    *,
    zeros: Annotated[int, ZEROS],
    ones: Annotated[int, number("rones")],
    failure: Annotated[float, number("gamma")],
) -> Answer[RareFacts]:
    """ρ̂ against the number of distances of 0, for as many distances of C as were seen."""
    reach = 10.0 ** np.ceil(np.log10(max(float(zeros), 100.0)) + 1.0)
    x: Array = np.unique(np.round(np.r_[np.geomspace(1.0, reach, 161), max(zeros, 1)]))
    posterior = np.array(
        [dpviz.bayesian.binary_estimator(zeros=each, ones=ones, estimator_failure=failure) for each in x]
    )
    plot = LinePlot(
        x=Axis(
            "distances of 0 in the sample",
            name="zeros",
            log=True,
            kind="steps",
            hover="%{x:,d} zeros",
            write=numbers.steps,
        ),
        y=Axis("probability ρ of a distance C", name="ρ", log=True, shown=(0.1 / reach, 2.0)),
        lines=(
            Line("posterior", "ρ̂ of the paper", x, posterior, look.SOLID, color=look.ORANGE),
            Line("exact", "bound for every ρ", x, most_likely(x, ones, failure), look.SOLID),
            Line("sample", "share in the sample", x, ones / (x + ones), look.NEUTRAL, kept=False, explained=True),
        ),
        guides=(Guide("x", zeros, f"N₀ = {numbers.short_steps(zeros)}", noted=False, sets=ZEROS),),
        end_values=False,
    )
    facts = RareFacts(
        posterior=dpviz.bayesian.binary_estimator(zeros=zeros, ones=ones, estimator_failure=failure),
        exact=float(most_likely(np.array([float(zeros)]), ones, failure)[0]),
        share=ones / (zeros + ones) if zeros + ones else 0.0,
        zeros=zeros,
        ones=ones,
        failure=failure,
    )
    return Answer(plot, facts)


def most_likely(zeros: Array, ones: int, failure: float) -> Array:
    """The upper end of Clopper & Pearson 1934: too low with probability γ at most, whatever ρ is."""
    return np.where(zeros > 0.0, betainccinv(ones + 1.0, np.maximum(zeros, 1.0), failure), 1.0)


def headline(f: RareFacts) -> str:
    zeros = f"After {setting(ZEROS, numbers.steps(f.zeros))} distances of 0"
    uses = (
        f"{zeros} and {numbers.steps(f.ones)} of C, the estimator uses"
        if f.ones
        else f"{zeros}, the estimator still uses"
    )
    return (
        f"{uses} the probability <b>ρ̂ = {numbers.at_most(f.posterior)}</b> for a distance of C. This is too low with "
        f"probability γ = {numbers.delta(f.failure)}."
    )


def metrics(f: RareFacts) -> Iterator[Metric]:
    yield Metric("ρ̂ of the paper", numbers.at_most(f.posterior), "posterior quantile, flat prior")
    yield Metric("Bound for every ρ", numbers.at_most(f.exact), "Clopper & Pearson 1934")
    yield Metric("Share of C", numbers.plain(f.share), "of the sample")


NOTES = (
    Note(
        "The failure probability γ of ρ̂ is an average over all ρ, drawn from the flat prior. For one fixed ρ it may be "
        "larger. The failure probability of the blue curve is at most γ for every ρ; this costs about as much as one "
        "zero fewer."
    ),
)
FORMULAS = (
    Formula(
        "Triastcyn & Faltings 2020, §4.3.1",
        r"\rho \mid N_0, N_1 \sim \mathrm{Beta}(N_1 + 1, N_0 + 1),\quad \Pr[\rho > \hat\rho] = \gamma;\quad"
        r" N_1 = 0:\ \hat\rho = 1 - \gamma^{1/(N_0 + 1)}",
    ),
)
ASSUMPTIONS = """
- **Two distances:** an example changes the sum by 0 or by C, each drawn independently with probability ρ for C.
- **The paper's example:** 100 distances of 0; ρ̂ = 0.01 at γ = 0.99¹⁰¹ = 0.36. At γ = 1e-15 the same sample gives 0.29.
- Real distances are between 0 and C. The Compose page uses the estimator of Eq. 14 or the certified bound.
"""

RARE = Question(
    "rare",
    "Bayesian DP, §4.3.1: what a sample cannot show",
    rare,
    Words(headline, metrics, lambda _: NOTES, lambda _: FORMULAS, ASSUMPTIONS),
    asks="posterior",
    layout={"Sample": ("zeros", "ones", "failure")},
    presets=published("bdpzeros"),
)

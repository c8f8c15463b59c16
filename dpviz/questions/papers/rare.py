"""The binary estimator: how likely is a distance that no sample has shown? (Triastcyn & Faltings 2020, §4.3.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betainccinv

from dpviz import library as dpviz
from dpviz.charts import look
from dpviz.charts.marks import Guide, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.questions.answer import Answer, Metric, Note
from dpviz.questions.layout import Groups, Reader, experts
from dpviz.questions.papers.bayesian_fields import BINARY_FAILURE, ONES, ZEROS
from dpviz.questions.presets import presets
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE


@dataclass(frozen=True)
class RareFacts:
    """ρ̂ of the paper, the same by a bound that holds for every ρ, and the share that was seen."""

    posterior: float
    exact: float
    seen: float


def rare(*, zeros: int, ones: int, failure: float) -> Answer[RareFacts]:
    """ρ̂ against the number of distances of 0, for as many distances of C as were seen."""
    reach = 10.0 ** np.ceil(np.log10(max(float(zeros), 100.0)) + 1.0)
    x: npt.NDArray[np.float64] = np.unique(np.round(np.r_[np.geomspace(1.0, reach, 161), max(zeros, 1)]))
    known = {"ones": ones, "estimator_failure": failure}
    posterior = np.array([dpviz.binary_estimator(zeros=each, **known) for each in x])
    sample = ones / (x + ones)
    plot = LinePlot(
        Axis("distances of 0 in the sample", name="zeros", log=True, kind="steps", hover="%{x:,d} zeros",
             write=numbers.steps),
        Axis("probability ρ of a distance C", name="ρ", log=True, shown=(0.1 / reach, 2.0)),
        (
            Line("posterior", "ρ̂ of the paper", x, posterior, "moments", color=look.ORANGE),
            Line("exact", "bound for every ρ", x, upper(x, ones, failure), "moments"),
            Line("sample", "share seen", x, sample, "basic", kept=False, explained=True),
        ),
        guides=(Guide("x", zeros, f"N₀ = {numbers.short_steps(zeros)}", told=False),),
        end_values=False,
    )  # fmt: skip
    facts = RareFacts(
        dpviz.binary_estimator(zeros=zeros, **known),
        float(upper(np.array([float(zeros)]), ones, failure)[0]),
        ones / (zeros + ones) if zeros + ones else 0.0,
    )
    return Answer(plot, facts)


def upper(zeros: npt.NDArray[np.float64], ones: int, failure: float) -> npt.NDArray[np.float64]:
    """The upper end of Clopper & Pearson 1934: too low with probability γ at most, whatever ρ is."""
    return np.where(zeros > 0.0, betainccinv(ones + 1.0, np.maximum(zeros, 1.0), failure), 1.0)


def headline(a: Answer[RareFacts]) -> str:
    f, g = a.facts, a.given
    seen = f"{numbers.steps(g['zeros'])} distances of 0" + (
        f" and {numbers.steps(g['ones'])} of C" if g["ones"] else ""
    )
    return (
        f"After {seen} the estimator still charges <b>ρ̂ = {rounded(f.posterior)}</b> for a distance of C, and says too "
        f"little with probability γ = {numbers.delta(g['failure'])}."
    )


def rounded(value: float) -> str:
    """Rounded up, but for what floating point adds."""
    return numbers.plain(numbers.up(value * (1.0 - 1e-12)))


def metrics(a: Answer[RareFacts]) -> list[Metric]:
    f = a.facts
    return [
        Metric("ρ̂ of the paper", rounded(f.posterior), "posterior quantile, flat prior"),
        Metric("For every ρ", rounded(f.exact), "Clopper & Pearson 1934"),
        Metric("Share seen", numbers.plain(f.seen), "of the sample"),
    ]


def notes(a: Answer[RareFacts]) -> list[Note]:
    return [
        Note(
            "γ of ρ̂ is a probability over ρ as well, which the flat prior draws: averaged over all ρ it is kept. For "
            "one fixed ρ it may be missed; the blue curve keeps γ whatever ρ is, at the price of about one zero fewer."
        )
    ]


def formulas(a: Answer[RareFacts]) -> list[tuple[str, str]]:
    return [
        (
            "Triastcyn & Faltings 2020, §4.3.1",
            r"\rho \mid N_0, N_1 \sim \mathrm{Beta}(N_1 + 1, N_0 + 1),\quad "
            r"\Pr[\rho > \hat\rho] = \gamma;\quad N_1 = 0:\ \hat\rho = 1 - \gamma^{1/(N_0 + 1)}",
        )
    ]


def layout(get: Reader) -> Groups:
    return {"Sample": (ZEROS, ONES, BINARY_FAILURE), "Show": experts(IMAGE)}


RARE: Question[RareFacts] = Question(
    key="rare",
    title="Bayesian DP, §4.3.1: what no sample has shown",
    settings={"zeros": ZEROS, "ones": ONES, "failure": BINARY_FAILURE},
    answer=rare,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions="""
- **Two distances:** an example moves the sum by 0 or by C, each drawn independently with probability ρ for C.
- **The paper's example:** 100 distances of 0; ρ̂ = 0.01 at γ = 0.99^101 = 0.36. At γ = 1e-15 the same sample gives 0.29.
- Real distances lie between 0 and C: the estimator of Eq. 14, or the certified bound, is what the Compose page uses.
""",
    presets=presets("bdpzeros"),
    layout=layout,
)

"""Bayesian DP, Figs. 1, 3 and 4: the panels of one figure side by side (Triastcyn & Faltings 2020)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

from dpviz._arrays import Array
from dpviz.charts import LinePlot, Panel, Panels
from dpviz.fields import choice, number, numbers
from dpviz.questions import Answer, Metric, Note, Question, Slow, Words, experts
from dpviz.questions.papers.bayesian_curves import GRADIENTS
from dpviz.questions.papers.bayesian_noise import AgainstNoiseFacts, against_noise
from dpviz.questions.papers.bayesian_steps import FORMULAS, AlongStepsFacts, along_steps, estimate, with_bayesian
from dpviz.questions.printed import synthetic

SEED = number("pseed")
ALONG_STEPS, CLIPPED, UNCLIPPED = "1", "3", "4"
PanelFacts = AlongStepsFacts | AgainstNoiseFacts


class PanelRow(NamedTuple):
    """The panels of a figure: their quantiles, the order λ of all, and the place for which values are told."""

    quantiles: tuple[str, ...]
    order: int
    place: str


FIGURES = {
    ALONG_STEPS: PanelRow(("0.05", "0.25", "0.75", "0.95"), 16, "After 100 steps at λ = 16"),
    CLIPPED: PanelRow(("0.01", "0.5", "0.99"), 24, "For one step at σ = 0.55 and λ = 24"),
    UNCLIPPED: PanelRow(("0.05", "0.5", "0.95"), 24, "For one step at σ = 0.55 and λ = 24"),
}


@dataclass(frozen=True)
class PanelsFacts:
    """What the panels of one figure show.

    Attributes:
        figure: its number, a choice's text.
        seed: of the gradients.
        panels: of each panel the facts that its own question has.
    """

    figure: str
    seed: int
    panels: tuple[PanelFacts, ...]

    @property
    def quantiles(self) -> tuple[str, ...]:
        return FIGURES[self.figure].quantiles

    @property
    def estimates(self) -> tuple[float | None, ...]:
        """The estimate of Bayesian DP at the figure's order, of each panel; None while it is computed."""
        return tuple(facts.bayesian_fixed for facts in self.panels)

    @property
    def dp(self) -> float:
        """ε of DP at the figure's order, the same in all panels: the noise is a multiple of C."""
        return self.panels[0].dp_fixed


def panels(*, figure: Annotated[str, choice("pfigure")], seed: Annotated[int, SEED]) -> Answer[PanelsFacts]:
    """What the question of each panel answers, on common axes."""
    if figure == ALONG_STEPS:
        return beside(figure, seed, steps_of_panels(seed))
    quantiles, order, _ = FIGURES[figure]
    unclipped = figure == UNCLIPPED
    each = [against_noise(quantile=quantile, unclipped=unclipped, order=order, seed=seed) for quantile in quantiles]
    return beside(figure, seed, each)


def steps_of_panels(seed: int) -> list[Answer[AlongStepsFacts]]:
    """The answers of Fig. 1's panels, without their Bayesian curves."""
    quantiles, order, _ = FIGURES[ALONG_STEPS]
    return [along_steps(quantile=quantile, order=order, seed=seed) for quantile in quantiles]


def beside(figure: str, seed: int, answers: Sequence[Answer[PanelFacts]]) -> Answer[PanelsFacts]:
    """The answers of a figure's panels as one."""
    each = []
    for quantile, answer in zip(FIGURES[figure].quantiles, answers, strict=True):
        assert isinstance(answer.plot, LinePlot)
        each.append(Panel(float(quantile), answer.plot))
    facts = PanelsFacts(figure, seed, tuple(answer.facts for answer in answers))
    return Answer(Panels("quantile", tuple(each)), facts)


def draw(answer: Answer[PanelsFacts]) -> int | None:
    """What decides the slow curves: those of Fig. 1 alone are slow."""
    return answer.facts.seed if answer.facts.figure == ALONG_STEPS else None


def costs(answer: Answer[PanelsFacts]) -> list[Array]:
    """ĉ_t(λ) of the steps of each panel."""
    return [synthetic.fresh_costs(float(quantile), answer.facts.seed) for quantile in answer.facts.quantiles]


def with_costs(answer: Answer[PanelsFacts], costs: list[Array]) -> Answer[PanelsFacts]:
    """The Bayesian curves of Fig. 1 as well."""
    each = [with_bayesian(one, cost) for one, cost in zip(steps_of_panels(answer.facts.seed), costs, strict=True)]
    joined = beside(answer.facts.figure, answer.facts.seed, each)
    return replace(answer, plot=joined.plot, facts=joined.facts)


def headline(f: PanelsFacts) -> str:
    first, *_, last = zip(f.quantiles, f.estimates, strict=True)
    ends = (f"<b>{estimate(epsilon)}</b> at quantile {quantile}" for quantile, epsilon in (first, last))
    return (
        f"{FIGURES[f.figure].place}, DP gives <b>ε = {numbers.up(f.dp, 4)}</b> in each panel; the Bayesian estimate "
        f"goes from {' to '.join(ends)}."
    )


def metrics(f: PanelsFacts) -> Iterator[Metric]:
    for quantile, epsilon in zip(f.quantiles, f.estimates, strict=True):
        yield Metric(f"Quantile {quantile}", estimate(epsilon), f"estimate; DP {numbers.up(f.dp, 4)}")


def notes(f: PanelsFacts) -> Iterator[Note]:
    yield Note(
        f"All panels have the same axes, and the curves of DP are the same in each, because the noise is a multiple of "
        f"C. The paper draws both at λ = {FIGURES[f.figure].order}; each curve at its best λ lies lower."
    )
    yield Note(
        "Dashed: the estimate of the authors' notebook, from all pairs of 50 gradients. It is not a bound, because the "
        "pairs are not independent."
    )
    if f.figure != CLIPPED:
        yield Note(
            "The gradients of Bayesian DP are unclipped and have no largest distance: the estimate depends on the "
            "largest one drawn, and another draw may give another curve."
        )


def assumptions(f: PanelsFacts) -> str:
    if f.figure == ALONG_STEPS:
        return f"{GRADIENTS}\n- **Fresh samples:** 50 new gradients, unclipped, at each of T = 100 steps; σ = 1."
    return f"{GRADIENTS}\n- **One step:** T = 1, σ from 0.55 to 1.35."


PANELS = Question(
    "bdp_panels",
    "Bayesian DP, Figs. 1, 3 and 4: all panels side by side",
    panels,
    Words(headline, metrics, notes, lambda _: FORMULAS, assumptions),
    asks="estimates",
    layout={"Question": ("figure", *experts(SEED))},
    slow=(Slow(draw, costs, with_costs),),
    option="panels",
)

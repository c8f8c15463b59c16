"""Mironov, Talwar, Zhang 2019: the sampled Gaussian's densities and R(α), its closed form, and which order decides."""

import math

from dpviz.accounting.methods import ClosedForm, Renyi
from dpviz.fields import numbers
from dpviz.questions import Answer
from dpviz.questions.compose import COMPOSE
from dpviz.questions.compose.facts import ComposeFacts
from dpviz.questions.compose.question import GROWTH
from dpviz.questions.lectures.lecture import Lecture, LectureStop, RoomQuestion
from dpviz.questions.orders import ORDERS
from dpviz.questions.orders.deciding import DECIDING, DecidingFacts
from dpviz.questions.orders.densities import DENSITIES, DensitiesFacts
from dpviz.questions.orders.divergence import ONE_STEP, DivergenceFacts
from dpviz.questions.papers import PAPERS
from dpviz.questions.papers.sampled_figure1 import SAMPLED_FIGURE_1, ClosedFormFacts
from dpviz.questions.papers.sampled_theorem5 import THEOREM_5, DirectionsFacts
from dpviz.questions.printed import PAPERS as PAPER

Step = Answer[DivergenceFacts]
Growth = Answer[ComposeFacts]
Densities = Answer[DensitiesFacts]


def outputs(answer: Densities) -> str:
    f = answer.facts
    return (
        "Without you the output has the density P, with you Q: a little of it moves by C. The ratio Q/P, to the power "
        f"α and weighed by P, has an area that gives R(α) = **{numbers.up(f.divergence)}** at α = "
        f"{numbers.plain(f.order)}. Half of that area lies above **{numbers.plain(f.half)}** × C."
    )


def rare_outputs(now: Densities, then: Densities) -> str:
    return (
        f"Rare ones, about α × C: half of the area lies above **{numbers.plain(then.facts.half)}** × C, where both "
        f"densities have almost nothing but Q/P is huge. R(α) rises from {numbers.up(now.facts.divergence)} to "
        f"**{numbers.up(then.facts.divergence)}**."
    )


def one_step(answer: Step) -> str:
    f = answer.facts
    holds = f"up to α = **{numbers.at_least(f.closed_last)}**" if f.closed_last > 0.0 else "at no order here"
    return (
        f"R(α) is the cost of one step at order α: R(2) = **{numbers.up(f.divergence)}**. At large α "
        f"the rare step that has you decides, and R(α) rises steeply. The closed form 2q²α/σ² holds {holds}."
    )


def less_noise(now: Step, then: Step) -> str:
    holds = (
        f"up to α = **{numbers.at_least(then.facts.closed_last)}**"
        if then.facts.closed_last > 0.0
        else "**at no order**"
    )
    return (
        f"R(2) rises from {numbers.up(now.facts.divergence)} to **{numbers.up(then.facts.divergence)}**, and the "
        "closed "
        f"form holds {holds}: Theorem 11 needs σ ≥ 4. The exact R(α) needs nothing."
    )


def closed_form(answer: Answer[ClosedFormFacts]) -> str:
    f = answer.facts
    if not f.most > 0.0:
        return "Theorem 11 covers none of these settings: the exact divergence is all there is."
    return (
        "Where Theorem 11 holds, the closed form is simple and too large: "
        f"**{numbers.at_least(f.least)}** to **{numbers.at_most(f.most)}** times the exact divergence."
    )


def more_sampling(now: Answer[ClosedFormFacts], then: Answer[ClosedFormFacts]) -> str:
    orders = [(one.name, one.last) for one in then.facts.each if one.covered]
    if not orders:
        return "It covers **none** of the three. Sampling of one in ten is too much for it."
    reach = ", ".join(f"{name} up to α = **{numbers.at_least(last)}**" for name, last in orders)
    return f"It still covers {reach}."


def directions(answer: Answer[DirectionsFacts]) -> str:
    f = answer.facts
    return (
        "An example may be removed or added, and the two divergences differ. Removal costs up to "
        f"**{numbers.up(f.ratio)}** times as much, at α = {numbers.plain(f.order)}. Theorem 5 says which one is "
        "larger, so that one computation is enough."
    )


def without_sampling(now: Answer[DirectionsFacts], then: Answer[DirectionsFacts]) -> str:
    if then.facts.same:
        return "They are **the same**: without sampling two Gaussians of the same width lie beside each other."
    return f"At most **{numbers.up(then.facts.ratio)}** times, instead of {numbers.up(now.facts.ratio)}."


def deciding(answer: Answer[DecidingFacts]) -> str:
    f = answer.facts
    if not f.decided:
        return "No order shown proves a finite ε here."
    return (
        f"Every order proves an ε, and one of them the smallest: α = **{numbers.plain(f.order)}** with "
        f"ε ≤ **{numbers.up(f.epsilon)}** after {numbers.steps(f.steps)} steps. To the left ln(1/δ)/(α − 1) "
        "decides, to the right the steps."
    )


def fewer_steps(now: Answer[DecidingFacts], then: Answer[DecidingFacts]) -> str:
    where = "higher" if then.facts.order > now.facts.order else "lower"
    return (
        f"A {where} one: α = **{numbers.plain(then.facts.order)}** instead of {numbers.plain(now.facts.order)}, with "
        f"ε ≤ **{numbers.up(then.facts.epsilon)}**. An accountant with a short list of orders loses here."
    )


def last(answer: Growth, method: str) -> float:
    """A curve's ε after all steps."""
    return float(answer.facts.bounds[method].epsilon[-1])


def growth(answer: Growth) -> str:
    if ClosedForm.name not in answer.facts.bounds or not last(answer, ClosedForm.name) < math.inf:
        return (
            "The closed form says nothing here: Theorem 11 needs σ ≥ 4 and q ≤ 1/5. The exact divergence says "
            f"ε ≤ **{numbers.up(last(answer, Renyi().family))}**."
        )
    return (
        f"After {numbers.steps(answer.facts.steps)} steps the closed form says "
        f"ε ≤ **{numbers.up(last(answer, ClosedForm.name))}** and the exact divergence "
        f"ε ≤ **{numbers.up(last(answer, Renyi().family))}**. The factor in R(α) becomes less in ε, because another "
        "order decides."
    )


def four_times(now: Growth, then: Growth) -> str:
    return (
        f"ε ≤ **{numbers.up(last(then, ClosedForm.name))}** by the closed form and "
        f"ε ≤ **{numbers.up(last(then, Renyi().family))}** exactly: "
        f"{numbers.plain(last(then, ClosedForm.name) / last(then, Renyi().family))} times as much, where it was "
        f"{numbers.plain(last(now, ClosedForm.name) / last(now, Renyi().family))} times."
    )


LECTURE = Lecture(
    PAPER["sgm"],
    (
        LectureStop(
            "Two densities, one ratio", outputs, DENSITIES, ORDERS,
            {"oview": DENSITIES.asked_as, "sigma": "1", "q": "0.1"},
            sliders=("oalpha", "sigma"),
            room=RoomQuestion("At α = 10, which outputs decide?", rare_outputs, {"oalpha": "10"}),
        ),
        LectureStop(
            "R(α) of one step", one_step, ONE_STEP, ORDERS, {"oview": ONE_STEP.asked_as},
            sliders=("sigma", "q"),
            room=RoomQuestion("Half the noise, σ = 2: what is left of the closed form?", less_noise, {"sigma": "2"}),
        ),
        LectureStop(
            "Where the closed form holds", closed_form, SAMPLED_FIGURE_1, PAPERS, {"pview": SAMPLED_FIGURE_1.asked_as},
            sliders=("q", "psig1"),
            room=RoomQuestion("With q = 0.1, what does Theorem 11 cover?", more_sampling, {"q": "0.1"}),
        ),
        LectureStop(
            "Removed or added?", directions, THEOREM_5, PAPERS, {"pview": THEOREM_5.asked_as},
            sliders=("sigma", "q"),
            room=RoomQuestion("How far apart are they without sampling?", without_sampling, {"q": "1"}),
        ),
        LectureStop(
            "The order that decides", deciding, DECIDING, ORDERS, {"oview": DECIDING.asked_as},
            sliders=("steps", "sigma"),
            room=RoomQuestion("After 100 steps, does a higher or a lower order decide?", fewer_steps, {"steps": "100"}),
        ),
        LectureStop(
            "What the factor costs", growth, GROWTH, COMPOSE, {"curves": f"{ClosedForm.name}.{Renyi().family}"},
            sliders=("steps", "sigma"),
            room=RoomQuestion("After 40 000 steps?", four_times, {"steps": "40000"}),
        ),
    ),
)  # fmt: skip

"""Li et al. 2019: the noise of a Langevin sampler as privacy. Which step sizes are private, and what steps cost."""

import math

from dpviz.fields import numbers
from dpviz.questions import Answer
from dpviz.questions.langevin import LANGEVIN
from dpviz.questions.langevin.conditions import CONDITIONS, ConditionsFacts
from dpviz.questions.langevin.cost import COST, StepsCostFacts
from dpviz.questions.langevin.errors import MSE_EPSILON, EpsilonErrorFacts
from dpviz.questions.langevin.posterior import POSTERIOR, PosteriorFacts
from dpviz.questions.langevin.step_sizes import AGAINST_SIZE, COMPARED, BySizeFacts, ComparedFacts
from dpviz.questions.lectures.lecture import Lecture, LectureStop, RoomQuestion, printed
from dpviz.questions.presets import PRESETS
from dpviz.questions.printed import PAPERS as PAPER

Cost = Answer[StepsCostFacts]
Path = Answer[PosteriorFacts]
Sizes = Answer[ComparedFacts]
FIGURE_1, LAST_MODEL = "sgfig1", "sglast"


def size(value: float) -> str:
    """A largest step size, rounded down; words where none is proven."""
    return numbers.down(value) if value > 0.0 else "none that is proven"


def allowed(answer: Sizes) -> str:
    f = answer.facts
    beside = ""
    if f.comparable:
        beside = f" The earlier theorem of Wang et al. 2015 allows {numbers.down(f.sizes['wang'])}."
    return (
        "A sampler of the posterior adds noise to each step anyway. With clipped gradients that noise is privacy, if "
        f"the steps are small enough. For ε = {numbers.plain(f.chain.claim)} after {numbers.steps(f.chain.steps)} "
        "steps "
        f"Theorem 3 allows η₁ = **{size(f.largest)}**.{beside}"
    )


def ten_times(now: Sizes, then: Sizes) -> str:
    times = then.facts.largest / now.facts.largest
    return (
        f"**{size(then.facts.largest)}** instead of {size(now.facts.largest)}: {numbers.plain(times)} times as large. "
        "The noise multiplier falls only as 1/√η, so a larger step costs less than in proportion."
    )


def cost(answer: Cost) -> str:
    f = answer.facts
    verdict = "holds" if f.best <= f.chain.claim else "is not proven by it"
    return (
        f"Steps of η₁ = {numbers.plain(f.chain.step_size)} cost ε ≤ **{numbers.up(f.epsilon)}** by Rényi DP, if every "
        f"model on the way is released. The claimed ε = {numbers.plain(f.chain.claim)} {verdict}."
    )


def other_noise(now: Cost, then: Cost) -> str:
    return (
        f"Yes: ε ≤ **{numbers.up(then.facts.epsilon)}** instead of {numbers.up(now.facts.epsilon)}. The algorithm as "
        "printed adds η/N; a sampler of the posterior needs 2η/N."
    )


def over_the_posterior(answer: Path) -> str:
    f = answer.facts
    alone = "" if math.isnan(f.last_point) else f" (the last one alone: ε ≤ {numbers.up(f.last_point)})"
    return (
        f"The ellipses are the posterior of a straight line. {numbers.steps(f.chain.steps)} steps of "
        f"η = {numbers.plain(f.chain.step_size)} cost ε ≤ **{numbers.up(f.epsilon)}**, all points released{alone}. The "
        f"second half of the path is **{numbers.percent(f.spread)}** as wide as the posterior, and "
        f"{numbers.tenths(f.inside)} of it lies in the outer ellipse."
    )


def smaller_still(now: Path, then: Path) -> str:
    return (
        f"It costs less, ε ≤ **{numbers.up(then.facts.epsilon)}** instead of {numbers.up(now.facts.epsilon)}, but the "
        f"cloud is only **{numbers.percent(then.facts.spread)}** as wide as the posterior: so small steps have not yet "
        "been everywhere. Larger ones get there, and the noise of their batches makes the cloud wider."
    )


def conditions(answer: Answer[ConditionsFacts]) -> str:
    f = answer.facts
    first, final = f.applies
    if first > final:
        where = "at no step"
    else:
        where = f"from step **{numbers.steps(first)}** to step **{numbers.steps(final)}**"
    return (
        f"Theorem 3 has conditions on every step. With η₁ = {numbers.plain(f.chain.step_size)} conditions (1) and (2) "
        f"hold together {where} of {numbers.steps(f.chain.steps)}. Composing the steps needs neither."
    )


def smaller_steps(now: Answer[ConditionsFacts], then: Answer[ConditionsFacts]) -> str:
    first, final = then.facts.applies
    if first > final:
        size = numbers.plain(then.facts.chain.step_size)
        return (
            f"No: with η₁ = {size} they hold together **at no step**. The theorem says nothing of steps that cost less."
        )
    return f"They hold from step **{numbers.steps(first)}** to step **{numbers.steps(final)}**."


def by_size(answer: Answer[BySizeFacts]) -> str:
    f = answer.facts
    times = f" Along the chart it grows **{numbers.plain(f.growth, digits=2)}** times." if f.growth > 0.0 else ""
    return (
        f"For ε = {numbers.plain(f.chain.claim)} with N = {numbers.steps(f.chain.n)} examples Theorem 3 allows "
        f"η₁ = **{size(f.largest)}**. Batch, steps and noise follow N here.{times}"
    )


def more_data(now: Answer[BySizeFacts], then: Answer[BySizeFacts]) -> str:
    return (
        f"η₁ = **{size(then.facts.largest)}**, {numbers.plain(then.facts.largest / now.facts.largest)} times as large: "
        "the batch, the number of steps and the noise change with N too."
    )


def last_model(answer: Cost) -> str:
    f = answer.facts
    every = f"All {numbers.steps(f.chain.steps)} models cost ε ≤ {numbers.up(f.epsilon)}"
    if f.last is None:
        return (
            f"Release only the last model of a convex problem. {every}; of the last one alone nothing is proven here."
        )
    return (
        f"Release only the last model of a convex problem. {every}; the last one alone costs "
        f"ε ≤ **{numbers.up(f.released_epsilon)}**, because later noise covers earlier steps that nobody saw."
    )


def all_models(now: Cost, then: Cost) -> str:
    return (
        f"Hardly: all models cost ε ≤ **{numbers.up(then.facts.epsilon)}** after "
        f"{numbers.steps(then.facts.chain.steps)} steps, the last one ε ≤ "
        f"**{numbers.up(then.facts.released_epsilon)}**. "
        "The first steps are forgotten only where many steps follow, and only if nobody saw them."
    )


def error(answer: Answer[EpsilonErrorFacts]) -> str:
    f = answer.facts
    if not f.largest > 0.0:
        return f"Private steps are small. At ε = {numbers.plain(f.chain.claim)} no step is proven private."
    return (
        f"Private steps are small, and small steps mix slowly. At ε = {numbers.plain(f.chain.claim)} the bound on the "
        f"error is **{numbers.plain(f.worse)}** times the least one, which the step size "
        f"{numbers.plain(f.best_step_size)} has."
    )


def larger_claim(now: Answer[EpsilonErrorFacts], then: Answer[EpsilonErrorFacts]) -> str:
    return (
        f"**{numbers.plain(then.facts.worse)}** times the least error, instead of {numbers.plain(now.facts.worse)}: "
        "privacy costs accuracy as long as the private step is smaller than the best one."
    )


LECTURE = Lecture(
    PAPER["sgmcmc"],
    (
        LectureStop(
            "Which steps are private?", allowed, COMPARED, LANGEVIN,
            {**PRESETS[FIGURE_1].values, "lview": COMPARED.asked_as},
            plot=printed(FIGURE_1),
            sliders=("target", "steps"),
            room=RoomQuestion("For ε = 1, is the step ten times as large?", ten_times, {"target": "1"}),
        ),
        LectureStop(
            "What do these steps really cost?", cost, COST, LANGEVIN,
            {**PRESETS[FIGURE_1].values, "lview": COST.asked_as},
            sliders=("leta", "steps"),
            room=RoomQuestion(
                "With the noise that samples the posterior, 2η/N: is it less?",
                other_noise,
                {"lnoise": "sgld"},
            ),
        ),
        LectureStop(
            "Does the chain get there?", over_the_posterior, POSTERIOR, LANGEVIN,
            {"ldecay": "fixed", "lnoise": "sgld", "lview": POSTERIOR.asked_as},
            sliders=("steps", "leta"),
            runs="steps",
            room=RoomQuestion("Steps a tenth as large: is the cloud better?", smaller_still, {"leta": "0.01"}),
        ),
        LectureStop(
            "Where does the theorem apply?", conditions, CONDITIONS, LANGEVIN,
            {**PRESETS["sgconditions"].values, "lview": CONDITIONS.asked_as},
            sliders=("leta", "steps"),
            room=RoomQuestion(
                "A thousand times smaller steps: are the conditions safe then?",
                smaller_steps,
                {"leta": "1e-4"},
            ),
        ),
        LectureStop(
            "Does more data help?", by_size, AGAINST_SIZE, LANGEVIN, {"lview": AGAINST_SIZE.asked_as},
            sliders=("target", "n"),
            room=RoomQuestion("With N = 500 000?", more_data, {"n": "500000"}),
        ),
        LectureStop(
            "The last model alone", last_model, COST, LANGEVIN,
            {**PRESETS[LAST_MODEL].values, "lview": COST.asked_as},
            sliders=("steps", "leta"),
            room=RoomQuestion("After 1000 steps only, how far apart are the two?", all_models, {"steps": "1000"}),
        ),
        LectureStop(
            "What does a small ε cost?", error, MSE_EPSILON, LANGEVIN, {"lview": MSE_EPSILON.asked_as},
            sliders=("target", "steps"),
            room=RoomQuestion("With ε = 1?", larger_claim, {"target": "1"}),
        ),
    ),
)  # fmt: skip

"""Abadi et al. 2016: one step, its moments, their composition, the tail bound, and 1.26 in place of 9.34."""

from dpviz.accounting.methods import Moments, Renyi, Strong
from dpviz.fields import numbers
from dpviz.questions import Answer
from dpviz.questions.attack import ATTACK
from dpviz.questions.attack.release import RELEASE, ReleaseFacts
from dpviz.questions.compose import COMPOSE
from dpviz.questions.compose.facts import ComposeFacts
from dpviz.questions.compose.question import GROWTH
from dpviz.questions.lectures.lecture import Lecture, LectureStop, RoomQuestion, printed
from dpviz.questions.orders import ORDERS
from dpviz.questions.orders.divergence import ONE_STEP, DivergenceFacts
from dpviz.questions.papers import PAPERS
from dpviz.questions.papers.abadi_loss import LOSS, LossFacts
from dpviz.questions.papers.abadi_tail import TAIL, TailFacts
from dpviz.questions.papers.abadi_theorem1 import MAIN_THEOREM, LeastNoiseFacts
from dpviz.questions.presets import PRESETS
from dpviz.questions.printed import PAPERS as PAPER

Growth = Answer[ComposeFacts]
FIGURE_2 = "abadi2"


def last(answer: Growth, method: str) -> float:
    """A curve's ε after all steps."""
    return float(answer.facts.bounds[method].epsilon[-1])


def one_step(answer: Answer[ReleaseFacts]) -> str:
    f = answer.facts
    return (
        "A step publishes a sum of gradients with Gaussian noise. The curves show which sums are likely without you "
        f"and with you. At δ = {numbers.delta(f.delta)} this step costs ε ≤ **{numbers.at_most(f.at_delta)}**, and "
        f"the best guess is right at most **{numbers.chance_up(f.success)}** of the time."
    )


def twice_the_noise(now: Answer[ReleaseFacts], then: Answer[ReleaseFacts]) -> str:
    return (
        f"ε falls to **{numbers.at_most(then.facts.at_delta)}** from {numbers.at_most(now.facts.at_delta)}, and the "
        f"best guess to **{numbers.chance_up(then.facts.success)}**. One step cannot be both useful and secret: "
        "training takes many noisy ones."
    )


def loss(answer: Answer[LossFacts]) -> str:
    f = answer.facts
    return (
        "The privacy loss is the logarithm of the ratio of the two densities, at the output that came. After "
        f"{numbers.steps(f.steps)} steps it is above ε = {numbers.plain(f.epsilon)} with probability "
        f"**{f.probability(f.law.beyond)}**. δ counts only the excess: **{f.probability(f.delta)}**."
    )


def wider_loss(now: Answer[LossFacts], then: Answer[LossFacts]) -> str:
    return (
        f"δ rises from {now.facts.probability(now.facts.delta)} to **{then.facts.probability(then.facts.delta)}**: "
        "losses add up, so their distribution moves to the right and gets wider. ε and δ of each step do not know "
        "this distribution; its moments do."
    )


def moments(answer: Answer[DivergenceFacts]) -> str:
    f = answer.facts
    return (
        "A moment of the privacy loss is one number per order, and moments add up over steps. The smaller q is, the "
        f"smaller they are: at α = 2 one step costs R(2) = **{numbers.up(f.divergence)}**. All "
        f"{numbers.steps(f.steps)} steps "
        f"together cost ε ≤ **{numbers.up(f.epsilon)}**."
    )


def larger_batches(now: Answer[DivergenceFacts], then: Answer[DivergenceFacts]) -> str:
    times = then.facts.divergence / now.facts.divergence
    return (
        f"R(2) becomes **{numbers.plain(times)}** times as large, because it grows as q². ε rises from "
        f"{numbers.up(now.facts.epsilon)} to **{numbers.up(then.facts.epsilon)}**."
    )


def composition(answer: Growth) -> str:
    return (
        f"After {numbers.steps(answer.facts.steps)} steps strong composition, which knows ε and δ of a step alone, "
        f"says ε ≤ **{numbers.up(last(answer, Strong.name))}**. The moments accountant says "
        f"ε ≤ **{numbers.up(last(answer, Moments.name))}** of the same training."
    )


def four_times_the_steps(now: Growth, then: Growth) -> str:
    before, after = last(now, Moments.name), last(then, Moments.name)
    return (
        f"No: from {numbers.up(before)} to **{numbers.up(after)}**, {numbers.plain(after / before)} times as much. "
        "Over many steps ε grows about as √T."
    )


def tail(answer: Answer[TailFacts]) -> str:
    f = answer.facts
    return (
        f"From moments to δ by Markov's inequality: each order λ proves a δ, and the best one counts. At "
        f"ε = {numbers.plain(f.epsilon)} it is λ = {numbers.plain(f.order)}, with δ ≤ **{numbers.delta(f.delta)}**."
    )


def larger_epsilon(now: Answer[TailFacts], then: Answer[TailFacts]) -> str:
    return (
        f"The same training has δ ≤ **{numbers.delta(then.facts.delta)}** at ε = {numbers.plain(then.facts.epsilon)}, "
        f"beside {numbers.delta(now.facts.delta)} at ε = {numbers.plain(now.facts.epsilon)}. One run has a whole "
        "curve of pairs (ε, δ); a paper prints one of them."
    )


def figure_2(answer: Growth) -> str:
    by_method = {point.family: point.y for point in PRESETS[FIGURE_2].points if point.x == answer.facts.steps}
    beside = ""
    if by_method:
        beside = (
            f" The paper prints {numbers.plain(by_method[Moments.name])} and "
            f"{numbers.plain(by_method[Strong.name])}, the diamonds."
        )
    return (
        f"Fig. 2 as it comes out: ε ≤ **{numbers.up(last(answer, Moments.name))}** by moments and "
        f"**{numbers.up(last(answer, Strong.name))}** by strong composition, with ε₀ scaled by q as in the "
        f"paper.{beside}"
    )


def rigorous(now: Growth, then: Growth) -> str:
    return (
        "Strong composition gets worse: with the exact amplification by sampling it proves "
        f"ε ≤ **{numbers.up(last(then, Strong.name))}**, not {numbers.up(last(now, Strong.name))}, because the linear "
        f"rule is not valid for so large an ε₀. Moments stay at {numbers.up(last(then, Moments.name))}."
    )


def noise(answer: Answer[LeastNoiseFacts]) -> str:
    f = answer.facts
    return (
        f"Theorem 1, read as a recipe: for ε = {numbers.plain(f.epsilon)} after {numbers.steps(f.steps)} steps the "
        f"moments accountant needs σ ≥ **{numbers.up(f.noise_multiplier)}**, strong composition "
        f"σ ≥ **{numbers.up(f.strong)}**."
    )


def half_the_epsilon(now: Answer[LeastNoiseFacts], then: Answer[LeastNoiseFacts]) -> str:
    times = then.facts.noise_multiplier / now.facts.noise_multiplier
    return (
        f"σ rises from {numbers.up(now.facts.noise_multiplier)} to **{numbers.up(then.facts.noise_multiplier)}**, "
        f"{numbers.plain(times)} times as much. The theorem's σ = c₂ q √(T ln(1/δ))/ε would double it."
    )


LECTURE = Lecture(
    PAPER["abadi"],
    (
        LectureStop(
            "One step", one_step, RELEASE, ATTACK, {"aview": RELEASE.asked_as, "onekind": "gaussian"},
            sliders=("onescale", "onecut"),
            room=RoomQuestion(
                "Noise of scale 2: how often is the best guess right?",
                twice_the_noise,
                {"onescale": "2"},
            ),
        ),
        LectureStop(
            "Its privacy loss", loss, LOSS, PAPERS, {"pview": LOSS.asked_as, "steps": "1000", "ploss": "0.2"},
            sliders=("steps", "ploss"),
            room=RoomQuestion("After 10 000 steps, what is δ at the same ε?", wider_loss, {"steps": "10000"}),
        ),
        LectureStop(
            "Moments", moments, ONE_STEP, ORDERS, {"oview": ONE_STEP.asked_as},
            sliders=("q", "sigma"),
            room=RoomQuestion(
                "The batches get twice as large, q = 0.02. Does R(2) double?",
                larger_batches,
                {"q": "0.02"},
            ),
        ),
        LectureStop(
            "Composition", composition, GROWTH, COMPOSE,
            {"curves": f"{Strong.name}.{Moments.name}.{Renyi().family}", "logy": "1"},
            sliders=("steps", "sigma"),
            room=RoomQuestion("40 000 steps: is ε four times as large?", four_times_the_steps, {"steps": "40000"}),
        ),
        LectureStop(
            "The tail bound", tail, TAIL, PAPERS, {"pview": TAIL.asked_as},
            sliders=("ptail", "steps"),
            room=RoomQuestion("Same training: what is δ at ε = 2?", larger_epsilon, {"ptail": "2"}),
        ),
        LectureStop(
            "1.26 in place of 9.34", figure_2, GROWTH, COMPOSE,
            {
                **PRESETS[FIGURE_2].values, "steps": "10000", "logy": "1",
                "curves": f"{Strong.name}.{Moments.name}",
            },
            plot=printed(FIGURE_2),
            sliders=("steps", "sigma"),
            room=RoomQuestion("Is the rule for strong composition valid here?", rigorous, {"amp": "exact"}),
        ),
        LectureStop(
            "How much noise?", noise, MAIN_THEOREM, PAPERS, {"pview": MAIN_THEOREM.asked_as},
            sliders=("target", "steps"),
            room=RoomQuestion("Half the ε: twice the noise?", half_the_epsilon, {"target": "1"}),
        ),
    ),
)  # fmt: skip

"""Lécuyer 2021: one run as a plan, a filter and an odometer read it, and what a choice by results costs."""

from dpviz.fields import numbers
from dpviz.questions import Answer
from dpviz.questions.budget import BUDGET
from dpviz.questions.budget.chosen_stop import CHOSEN_STOP, ChosenStopFacts
from dpviz.questions.budget.individual import INDIVIDUAL, IndividualFacts
from dpviz.questions.budget.natural import NATURAL, NaturalFacts
from dpviz.questions.budget.policy import POLICY, PolicyFacts
from dpviz.questions.budget.shared import NAMES
from dpviz.questions.budget.spend import SPEND, SpendFacts
from dpviz.questions.budget.stop import STOP, StopFacts
from dpviz.questions.lectures.lecture import Lecture, LectureStop, RoomQuestion
from dpviz.questions.presets import PRESETS
from dpviz.questions.printed import PAPERS as PAPER

Stopped = Answer[StopFacts]
Chosen = Answer[ChosenStopFacts]
ASSUMED = "fo1assumed"


def three_readings(answer: Stopped) -> str:
    f = answer.facts
    odometer, _ = f.anytime
    return (
        f"One run, {numbers.steps(f.steps)} steps, three questions. The plan: ε ≤ **{numbers.up(f.planned_epsilon)}**, "
        f"if T is fixed before the first step. The odometer: ε ≤ **{numbers.up(odometer.epsilon)}**, whenever you "
        "stop. The filter: "
        f"**{numbers.steps(f.allowed)}** steps fit into ε = {numbers.plain(f.target_epsilon)}."
    )


def less_noise(now: Stopped, then: Stopped) -> str:
    return (
        f"**{numbers.steps(then.facts.allowed)}** steps instead of {numbers.steps(now.facts.allowed)}. The filter "
        "refuses the next one; the odometer lets you go on, and reads "
        f"ε ≤ **{numbers.up(then.facts.anytime[0].epsilon)}** after {numbers.steps(then.facts.steps)}."
    )


def stopped(answer: Chosen) -> str:
    f = answer.facts
    return (
        f"Say stop when you like, from step {numbers.steps(f.begin)} of {numbers.steps(f.steps)} on, because of what "
        f"you see. Who then states the planned ε at δ = {numbers.delta(f.delta)} has in truth "
        f"δ up to **{numbers.delta(f.true_delta)}**. The odometer states ε ≤ **{numbers.up(f.odometer)}** and is right."
    )


def from_the_first(now: Chosen, then: Chosen) -> str:
    return (
        f"Worse: δ is up to **{numbers.delta(then.facts.true_delta)}** instead of "
        f"{numbers.delta(now.facts.true_delta)}. Each stop is one more chance to look."
    )


def block_by_block(answer: Answer[SpendFacts]) -> str:
    f = answer.facts
    return (
        f"A budget of ε = {numbers.plain(f.target_epsilon)} allows **{numbers.steps(f.left)}** steps at "
        f"σ = {numbers.plain(f.coming.sigma)}. After the next block of {numbers.steps(f.coming.steps)}, "
        f"ε = **{numbers.up(f.ahead)}** of it is filled. Noise and length of a block may follow earlier results."
    )


def quieter(now: Answer[SpendFacts], then: Answer[SpendFacts]) -> str:
    return (
        f"**{numbers.steps(then.facts.left)}** steps, instead of {numbers.steps(now.facts.left)}: "
        f"{numbers.plain(then.facts.left / now.facts.left)} times as many. ε grows about as √T/σ, so twice the "
        "noise allows about four times the steps."
    )


def policies(answer: Answer[PolicyFacts]) -> str:
    f = answer.facts
    lengths = ", ".join(f"{NAMES[key]} **{epochs}**" for key, epochs in f.epochs.items())
    return (
        "A policy changes noise or batch size as accuracy rises or stands still, by noisy counts that are paid for. "
        f"Epochs within the same budget, with an assumed accuracy: {lengths}."
    )


def quick_rise(now: Answer[PolicyFacts], then: Answer[PolicyFacts]) -> str:
    before, after = now.facts.epochs, then.facts.epochs
    changes = ", ".join(f"{NAMES[key]} **{after[key]}** (was {before[key]})" for key in after)
    return f"Epochs: {changes}. The policy reacts to results, and the filter still holds: that is what it is for."


def on_curves(answer: Answer[NaturalFacts]) -> str:
    f = answer.facts
    if f.spent:
        return f"The first {numbers.steps(f.rounds)} rounds alone break the claim: here every filter says no."
    return (
        "A tempting filter composes whole privacy curves and lets pass what keeps (ε, δ). After "
        f"{numbers.steps(f.rounds)} rounds **{numbers.steps(f.passing)}** mechanisms pass, each rightly. If results "
        f"choose among them, δ is not {numbers.delta(f.delta)} but **{numbers.delta(f.true_delta)}**."
    )


def one_round(now: Answer[NaturalFacts], then: Answer[NaturalFacts]) -> str:
    return (
        f"Yes: {numbers.up(then.facts.times)} times the claimed δ, beside {numbers.up(now.facts.times)} times. What "
        "costs most depends on the loss so far, and the filter checks each mechanism on average over it."
    )


def each_person(answer: Answer[IndividualFacts]) -> str:
    f = answer.facts
    return (
        f"One budget for all ends after **{numbers.steps(f.ordinary)}** steps, when somebody with a gradient of norm C "
        f"has spent it. With a budget each, the person with the median norm could stay for "
        f"**{numbers.steps(f.median)}** steps; after {numbers.steps(f.steps)}, {numbers.percent(f.staying)} could."
    )


def longer(now: Answer[IndividualFacts], then: Answer[IndividualFacts]) -> str:
    return (
        f"**{numbers.percent(then.facts.staying)}** of the people can still take part, with "
        f"{numbers.percent(then.facts.weight)} of the clipped norms. What each has left is secret: it depends on their "
        "own gradients."
    )


LECTURE = Lecture(
    PAPER["filters"],
    (
        LectureStop(
            "Plan, filter, odometer", three_readings, STOP, BUDGET, {"bview": STOP.asked_as},
            sliders=("steps", "target"),
            runs="steps",
            room=RoomQuestion("Half the noise, σ = 2: how many steps fit?", less_noise, {"sigma": "2"}),
        ),
        LectureStop(
            "Stop when you like", stopped, CHOSEN_STOP, BUDGET, {"bview": CHOSEN_STOP.asked_as},
            sliders=("bfrom", "bstops"),
            room=RoomQuestion(
                "You may stop from the first step on. Is that safer or worse?",
                from_the_first,
                {"bfrom": "1"},
            ),
        ),
        LectureStop(
            "Block by block", block_by_block, SPEND, BUDGET, {"bview": SPEND.asked_as},
            sliders=("target", "sigma"),
            room=RoomQuestion("Twice the noise, σ = 8: twice the steps?", quieter, {"sigma": "8"}),
        ),
        LectureStop(
            "Noise that follows results", policies, POLICY, BUDGET,
            {**PRESETS[ASSUMED].values, "bview": POLICY.asked_as},
            sliders=("target", "bpace"),
            room=RoomQuestion("Accuracy rises twice as fast: who trains longer?", quick_rise, {"bpace": "0.08"}),
        ),
        LectureStop(
            "Why not filter whole curves?", on_curves, NATURAL, BUDGET, {"bview": NATURAL.asked_as},
            sliders=("brounds", "bfirst"),
            room=RoomQuestion("Is one round before the choice enough to break it?", one_round, {"brounds": "1"}),
        ),
        LectureStop(
            "A budget for each person", each_person, INDIVIDUAL, BUDGET, {"bview": INDIVIDUAL.asked_as},
            sliders=("steps", "target"),
            room=RoomQuestion("After 100 000 steps, who is still there?", longer, {"steps": "100000"}),
        ),
    ),
)  # fmt: skip

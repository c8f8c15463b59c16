"""Triastcyn & Faltings 2020: from an outlier in town to the price of δ_μ, γ and m."""

from dpviz.accounting.methods import BAYESIAN, Renyi
from dpviz.fields import numbers
from dpviz.questions import Answer
from dpviz.questions.attack import ATTACK
from dpviz.questions.attack.residents import RESIDENTS, ResidentFacts
from dpviz.questions.compose import COMPOSE
from dpviz.questions.compose.facts import ComposeFacts
from dpviz.questions.compose.people import MEDIAN, OUTLIER, PEOPLE, PeopleFacts
from dpviz.questions.compose.question import GROWTH
from dpviz.questions.lectures.lecture import Lecture, LectureStop, RoomQuestion
from dpviz.questions.papers import PAPERS
from dpviz.questions.papers.bayesian_rare import RARE, RareFacts
from dpviz.questions.papers.bayesian_together import TOGETHER, TogetherFacts
from dpviz.questions.printed import PAPERS as PAPER

Town = Answer[ResidentFacts]
People = Answer[PeopleFacts]
Growth = Answer[ComposeFacts]


def town(answer: Town) -> str:
    f = answer.facts
    return (
        "A town publishes its mean income. The noise must hide the richest, so everybody is promised "
        f"**ε = {numbers.at_most(f.release.epsilon)}**. The resident at quantile {numbers.plain(f.quantile)} pays only "
        f"ε ≤ **{numbers.up(f.own)}**: the noise is there for one outlier."
    )


def without_outlier(now: Town, then: Town) -> str:
    return (
        "The town promises the same ε, with less noise. Now the same resident pays "
        f"ε ≤ **{numbers.up(then.facts.own)}** instead of {numbers.up(now.facts.own)}: nobody stands out, so nobody "
        "is hidden behind the noise for somebody else."
    )


def norms(answer: People) -> str:
    f = answer.facts
    return (
        "In training, the incomes are gradient norms. Their tail decides where a quantile lies: "
        f"C is at {numbers.plain(f.over_median)} × the median norm. One run costs the person at the median "
        f"ε ≤ **{numbers.up(f.own[MEDIAN])}** and an outlier ε ≤ **{numbers.up(f.own[OUTLIER])}**."
    )


def thin_tail(now: People, then: People) -> str:
    return (
        f"Much closer: C falls from {numbers.plain(now.facts.over_median)} to "
        f"**{numbers.plain(then.facts.over_median)}** × the median norm, and the person at the median pays "
        f"ε ≤ **{numbers.up(then.facts.own[MEDIAN])}**. If people are alike, all of them pay nearly the price of the "
        "outlier."
    )


def clipped(answer: People) -> str:
    f = answer.facts
    return (
        f"Clip at the quantile {numbers.plain(f.quantile, digits=4)}. DP promises everybody "
        f"ε ≤ **{numbers.up(f.epsilon)}**. Bayesian DP promises ε_μ ≤ **{numbers.up(f.promise)}**, for people like "
        f"these and not for outliers: for {numbers.percent(f.above)} of the people, their own ε is larger."
    )


def lower_quantile(now: People, then: People) -> str:
    return (
        f"The DP promise stays at ε ≤ {numbers.up(then.facts.epsilon)}, because the noise follows C. The person at "
        f"the median pays ε ≤ **{numbers.up(then.facts.own[MEDIAN])}** instead of {numbers.up(now.facts.own[MEDIAN])}, "
        f"and Bayesian DP promises ε_μ ≤ **{numbers.up(then.facts.promise)}** instead of "
        f"{numbers.up(now.facts.promise)}."
    )


def weaker(answer: Growth) -> str:
    f = answer.facts
    return (
        f"After {numbers.steps(f.steps)} steps DP says ε ≤ **{numbers.up(f.epsilon)}** and Bayesian DP "
        f"ε_μ ≤ **{numbers.up(f.promise)}**. It is no better accountant: it promises less, to people from the "
        "distribution of the data."
    )


def when_not(now: Growth, then: Growth) -> str:
    return (
        "When most gradients are clipped, or all are alike. Clipped at the median, ε_μ is "
        f"**{numbers.up(then.facts.promise)}**, beside ε ≤ {numbers.up(then.facts.epsilon)} of DP; at first it was "
        f"{numbers.up(now.facts.promise)}."
    )


def sample(answer: Answer[RareFacts]) -> str:
    f = answer.facts
    return (
        f"The paper estimates from m distances. After {numbers.steps(f.zeros)} distances of 0 one must still expect a "
        f"distance of C with probability **{numbers.probability(f.posterior, up=True)}**, if the estimate may fail "
        f"with probability γ = {numbers.plain(f.failure)}."
    )


def more_pairs(now: Answer[RareFacts], then: Answer[RareFacts]) -> str:
    return (
        f"No. {numbers.steps(then.facts.zeros)} distances of 0 leave "
        f"**{numbers.probability(then.facts.posterior, up=True)}** instead of "
        f"{numbers.probability(now.facts.posterior, up=True)}. What a sample cannot show costs as much as if it were "
        "there, and a smaller γ makes it worse."
    )


def together(answer: Answer[TogetherFacts]) -> str:
    f = answer.facts
    return (
        f"δ_μ and ε_μ add up over {numbers.steps(f.count)} mechanisms: **({numbers.up(f.epsilon)}, "
        f"{numbers.delta(f.delta)})**. For a group of {numbers.steps(f.count)} people ε is the same, and δ is at most "
        f"**{numbers.delta(f.group_delta)}**."
    )


def larger_group(now: Answer[TogetherFacts], then: Answer[TogetherFacts]) -> str:
    return (
        f"More than that: {numbers.steps(then.facts.count)} people have δ ≤ "
        f"**{numbers.delta(then.facts.group_delta)}** instead of "
        f"{numbers.delta(now.facts.group_delta)}. Each person more multiplies δ by about e^ε."
    )


LECTURE = Lecture(
    PAPER["bdp"],
    (
        LectureStop(
            "An outlier in town", town, RESIDENTS, ATTACK,
            {"aview": RESIDENTS.asked_as, "anoise": "gaussian", "target": "2"},
            sliders=("target", "ashare"),
            room=RoomQuestion(
                "The outlier moves away: nobody earns more than ten times the median. What does the same promise cost "
                "this resident now?",
                without_outlier,
                {"afactor": "10"},
            ),
        ),
        LectureStop(
            "Gradient norms and their tail", norms, PEOPLE, COMPOSE, {"cview": PEOPLE.asked_as},
            sliders=("shape", "quantile"),
            room=RoomQuestion("With a thin tail (shape 2), where does C lie?", thin_tail, {"shape": "2"}),
        ),
        LectureStop(
            "Clip at a quantile", clipped, PEOPLE, COMPOSE, {"cview": PEOPLE.asked_as, "logy": "1"},
            sliders=("quantile", "sigma"),
            room=RoomQuestion("Clip at the median instead: who pays less?", lower_quantile, {"quantile": "0.5"}),
        ),
        LectureStop(
            "When Bayesian DP costs less", weaker, GROWTH, COMPOSE, {"curves": f"{Renyi().family}.{BAYESIAN}"},
            sliders=("quantile", "steps"),
            room=RoomQuestion("When does it cost as much as DP?", when_not, {"quantile": "0.5"}),
        ),
        LectureStop(
            "What a sample cannot show", sample, RARE, PAPERS, {"pview": RARE.asked_as},
            sliders=("rzeros", "gamma"),
            room=RoomQuestion(
                "Ten times as many distances, all of them 0: is the rare distance gone?", more_pairs, {"rzeros": "1000"}
            ),
        ),
        LectureStop(
            "What δ_μ costs a group", together, TOGETHER, PAPERS, {"pview": TOGETHER.asked_as},
            sliders=("gk", "gdmu"),
            room=RoomQuestion("Does δ for twice as many people double?", larger_group, {"gk": "10"}),
        ),
    ),
)  # fmt: skip

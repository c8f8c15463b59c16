"""The missing one of noise, T, q and δ for a target ε, by every method."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from dpviz import library as dpviz
from dpviz._remember import remembered
from dpviz.accounting.methods import Tight
from dpviz.accounting.no_answer import NoAnswer
from dpviz.fields import choice, flag
from dpviz.gradients.law_solve import solve_law
from dpviz.questions import Answer, Question, annotated, kinds, published
from dpviz.questions.gradients import Gradients, Law, clipped
from dpviz.questions.needed import TOLERANCE, Known, Need, dp_need
from dpviz.questions.noise.answers import answers
from dpviz.questions.noise.curves import BayesianAsk
from dpviz.questions.noise.needs import Needs, facts_without_dp
from dpviz.questions.noise.needs_words import WORDS
from dpviz.questions.noise.settings import TARGET, NoiseAsked
from dpviz.questions.noise.shared import DETAILS, SLOW, layout

UNKNOWN, TIGHT = choice("solvefor"), flag("noisetight")


def missing(*, unknown: Annotated[str, UNKNOWN], tight: Annotated[bool, TIGHT], **setting: Any) -> Answer[Needs]:
    """One answer a method; other keywords as in `NoiseAsked`."""
    ask = NoiseAsked(**setting)
    target, plan = ask.target_epsilon, ask.composed
    needs = {key: dp_need(key, ask.amplification, unknown, target, plan.without(unknown)) for key in ask.dp}
    if tight and Tight.name not in ask.left:
        needs[Tight.name] = Need(None, waits=True)
    known = replace(plan, delta=ask.weak_delta).known(unknown)

    def add(gradients: Gradients, weak: BayesianAsk) -> None:
        asked = replace(weak, delta_mu=0.5)  # it stands in `known`
        needs[f"bayesian.{weak.quantile}"] = bayesian_need(gradients, asked, unknown, target, known)

    facts = replace(facts_without_dp(ask, unknown, add), needs=needs)
    return Answer(answers(facts), facts)


@remembered
def bayesian_need(gradients: Gradients, weak: BayesianAsk, unknown: str, target: float, known: Known) -> Need:
    """The answer of Bayesian DP, certified where it can be; noise is a multiple of the sensitivity, as DP's σ is."""
    names, unit = {"delta": "delta_mu"}, 1.0
    solve: Callable[..., float]
    if isinstance(gradients, Law):
        solve = partial(solve_law, **gradients.clip(weak.share))
    else:
        seen = clipped(gradients, weak.share, weak.clip)
        solve = partial(
            dpviz.bayesian.solve_bayesian,
            distances=seen.distances,
            estimator_failure=weak.failure,
            tolerance=TOLERANCE,
            largest_distance=seen.largest,
        )
        names, unit = names | {"noise_multiplier": "noise_std"}, seen.sensitivity
    given: dict[str, Any] = {
        names.get(name, name): value * unit if name == "noise_multiplier" else value for name, value in known
    }
    try:
        value = solve(names.get(unknown, unknown), target_epsilon=target, **given)
    except NoAnswer as none:
        return Need(None, none.why)
    in_units = unknown == "noise_multiplier" and not isinstance(gradients, Law)
    return Need(value / unit * (1.0 + 2.0**-50) if in_units else value)


SOLVE = Question(
    "solve",
    "Solve for σ, T, q or δ",
    missing,
    WORDS,
    asks="needs",
    settings=annotated(NoiseAsked),
    presets=published("noisesgd"),
    layout=lambda get: layout(get, (UNKNOWN, TARGET), kinds.controls(get, get(UNKNOWN)), (), (TIGHT,)),
    slow=SLOW,
    more=DETAILS,
)

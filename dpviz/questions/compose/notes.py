"""What must be said beside the curves: bounds that do not hold, floors that bind, samples that are too small."""

from __future__ import annotations

import math

import numpy as np

from dpviz.accounting.bayesian.accountant import BayesianBound
from dpviz.accounting.renyi.accountant import Moments, Renyi
from dpviz.fields import numbers
from dpviz.questions.answer import Answer, Note
from dpviz.questions.compose.curves import ComposeFacts
from dpviz.questions.compose.fields import WITH_ORDERS
from dpviz.questions.compose.sampled import sampled_notes
from dpviz.questions.methods import NAMES


def notes(a: Answer[ComposeFacts]) -> list[Note]:
    """What must be said beside the chart: bounds that do not hold, floors that bind, orders at their range's end."""
    said: list[str] = []
    for key, bound in a.facts.bounds.items():
        if bound.reason:
            said.append(f"{NAMES[key]}: {bound.reason}")
        elif np.isinf(bound.epsilon).all():
            said.append(f"{NAMES[key]}: proves no finite ε here.")
        if bool(bound.at_grid_end[-1]) and a.given["order"] is None:
            order = float(bound.order[-1])
            which = "largest" if order > 2.5 else "smallest"
            text = f"{NAMES[key]}: the {which} order tried (α = {numbers.plain(order)}) decides at T"
            if which == "largest":
                text += f"; with these orders ε cannot fall below {numbers.epsilon(float(bound.floor[-1]))}"
            said.append(text + ".")
    if (moment := a.given["order"]) is not None and WITH_ORDERS & set(a.given["curves"]):
        said.append(
            f"Every curve that has orders is drawn at λ = {moment}, α = {moment + 1}: its best λ may do better."
        )
    built = [Note(text) for text in said]
    built[:0] = a.facts.problem
    built += left_notes(a)
    bayesian = a.facts.bayesian
    if bayesian is not None and np.isinf(bayesian.main.epsilon[-1]):
        built.append(
            Note("Bayesian DP: the largest distance alone makes the cost overflow: ε is infinite here. Clip both.")
        )
    built += law_notes(a) + _bayesian_notes(a)
    if a.facts.tight is not None and a.facts.tight.reason:
        built.append(Note(f"Tight interval: {a.facts.tight.reason}"))
    if bayesian is not None and a.given["order"] is None and _floor_binds(bayesian.main):
        built.append(
            Note(
                f"Bayesian DP: the largest order tried (λ = {bayesian.main.order[-1] - 1:.0f}) decides at T; with "
                f"these orders ε_μ cannot fall below {numbers.epsilon(float(bayesian.main.floor[-1]))}."
            )
        )
    built += sampled_notes(a)
    warning = tail_warning(a)
    return [*built, Note(warning, "caution")] if warning else built


def left_notes(a: Answer[ComposeFacts]) -> list[Note]:
    """Which curves there are none of under this mechanism, and why; those with one reason together."""
    alike: dict[str, list[str]] = {}
    for key, reason in a.facts.left.items():
        alike.setdefault(reason, []).append(NAMES[key])
    return [Note(f"Not offered for this mechanism: {', '.join(names)}: {why}") for why, names in alike.items()]


def law_notes(a: Answer[ComposeFacts]) -> list[Note]:
    """Why Bayesian DP of the known distribution gains little here, in a sentence; else nothing."""
    found, g = a.facts.law, a.given
    alike = a.facts.bounds.get((Renyi if g["definition"] == "2" else Moments)().family)
    if found is None or not math.isfinite(found.last):
        return []
    floor = float(found.bound.floor[-1])
    if g["order"] is None and bool(found.bound.at_grid_end[-1]) and floor > 0.5 * found.last:
        return [
            Note(f"Bayesian DP: the orders end before its best one: ε_μ cannot fall below {numbers.epsilon(floor)}.")
        ]
    if alike is None or not found.last > 0.95 * float(alike.epsilon[-1]):
        return []
    clipped = 100.0 * (1.0 - g["quantile"])
    return [
        Note(
            f"Bayesian DP hardly gains here: {numbers.plain(clipped)} % of the gradients are clipped to C and cost "
            "what the worst case does, and the largest costs weigh most. A higher quantile leaves fewer there."
        )
    ]


def _bayesian_notes(a: Answer[ComposeFacts]) -> list[Note]:
    """Which of its numbers is a bound, what it stands for, and where the estimate is below the truth."""
    if a.facts.bayesian is None:
        return []
    found, worst = a.facts.bayesian.main, a.facts.bayesian.worst
    built = []
    if a.given["divergence"] == "printed":
        built.append(
            Note(
                "Bayesian DP with ψ_R as printed in Theorem 3: an upper bound of first order in q, not needed: the "
                "other direction never costs more than ψ_L; Bayes holds the switch."
            )
        )
    if not a.facts.bayesian.independent:
        built.append(
            Note(
                "Bayesian DP: all pairs share gradients, so its distances are not independent: γ is not kept, and only "
                "the estimate as printed is drawn. Disjoint pairs give a bound."
            )
        )
    elif a.given["clip"] != "both":
        text = "Bayesian DP, unclipped: no distance is the largest, so there is no bound, only the estimate as printed."
        if a.facts.beside is not None and a.facts.beside.infinite:
            text += " The true cost of this distribution is infinite."
        built.append(Note(text))
    if found.certified and bool(found.tail_dominated[-1]):
        built.append(Note(_few(a, a.facts.bayesian.size, float(found.largest_share[-1]), worst or 0.0)))
    if text := below_the_truth(a):
        built.append(Note(text, "caution"))
    return built


def _few(a: Answer[ComposeFacts], size: int, share: float, worst: float) -> str:
    """Why a certified bound lies near DP's own, and how many samples would help."""
    text = (
        f"Bayesian DP, certified: {numbers.plain(100 * share)} % of it stands for large distances that "
        f"{numbers.steps(size)} samples cannot exclude at γ = {numbers.delta(a.given['failure'])}. It lies near "
        f"{numbers.epsilon(worst, up=True)}, what the largest distance throughout costs"
    )
    samples = math.nan if a.facts.beside is None else a.facts.beside.samples
    if math.isinf(samples):
        return text + "; no number of samples like these would halve that."
    return text + ("." if math.isnan(samples) else f"; some {numbers.plain(samples, digits=2)} samples would halve it.")


def below_the_truth(a: Answer[ComposeFacts]) -> str:
    """Amber text where the estimate lies below the true cost of the distribution; else empty."""
    beside = a.facts.beside
    estimate = None if a.facts.bayesian is None else a.facts.bayesian.estimate
    if estimate is None or beside is None or beside.truth is None:
        return ""
    at = estimate.epsilon[np.searchsorted(a.facts.steps, beside.steps)]
    below = at < beside.truth.lower
    if not below.any():
        return ""
    first = numbers.steps(float(beside.steps[int(np.argmax(below))]))
    text = f"The estimate as printed is below the true cost of this distribution from t = {first}"
    if bool(below[-1]):
        text += (
            f" (at T {numbers.epsilon(float(at[-1]), up=True)}, the truth is "
            f"{numbers.epsilon(float(beside.truth.lower[-1]))} or more)"
        )
    return f"{text}: it is no bound."


def _floor_binds(found: BayesianBound) -> bool:
    """Whether the orders' end, not the data, makes up most of ε_μ at T."""
    return bool(found.at_grid_end[-1]) and float(found.floor[-1]) > 0.5 * float(found.epsilon[-1])


def tail_warning(a: Answer[ComposeFacts]) -> str:
    """Amber text when one sample carries more than half of the estimate somewhere on the curve; else empty."""
    if a.facts.bayesian is None:
        return ""
    found = a.facts.bayesian.estimate
    if found is None or not bool(found.tail_dominated.any()):
        return ""
    first = a.facts.steps[int(np.argmax(found.tail_dominated))]
    share = float(found.largest_share[-1])
    size = float(found.effective_size[-1])
    text = (
        f"From t = {numbers.steps(first)} on, one distance carries more than half of the Bayesian estimate (dashed). "
    )
    if math.isfinite(share):
        text += (
            f"At T it carries {100 * share:.0f} %, and the estimate rests on {numbers.plain(size)} of "
            f"{numbers.steps(a.facts.bayesian.size)} distances in effect. "
        )
    if a.given["clip"] == "dp":
        text += "Unclipped heavy tails may have an infinite true cost: with more samples the curve would keep rising. "
    return text + "Do not trust the dotted part: clip both, add noise, or take more samples."

"""The question how ε grows with steps, and its controls."""

import math

from dpviz.accounting.methods import BAYESIAN, Tight
from dpviz.mechanisms import Event
from dpviz.questions import (
    Answer,
    Question,
    Words,
    cards,
    gaussian_dp,
    gradient_fields,
    kinds,
    published,
    slow_facts,
)
from dpviz.questions.compose import clipping, curves, later
from dpviz.questions.compose.curves import growth
from dpviz.questions.compose.distances import distances, warned
from dpviz.questions.compose.facts import ComposeFacts
from dpviz.questions.compose.words import assumptions, formulas, headline, metrics, notes
from dpviz.questions.gradient_fields import SOURCE
from dpviz.questions.layout import FieldControl, Item, Layout, Reader, experts
from dpviz.questions.methods import AMPLIFIED, RARE, WITH_ORDERS
from dpviz.questions.shared import AMPLIFICATION, CLIP, DELTA_MU, FAILURE, LAW, LOG_X, LOG_Y, TRIED
from dpviz.questions.tight_band import tight_part, with_tight
from dpviz.questions.use import Plan, card_from, checked, gaussian, use_it


def layout(get: Reader) -> Layout:
    """What moves the curves that are drawn comes first; Gradients only where Bayesian DP is drawn."""
    shown = curves.drawn(get)
    *first, delta = kinds.controls(get)
    first += [curves.ORDER] if WITH_ORDERS & set(shown) else []
    if BAYESIAN in shown:
        quantile = clipping.control(get, curves.GRADIENTS.read(get))
        first += [quantile, FieldControl((DELTA_MU,))]
    groups: dict[str, tuple[Item, ...]] = {"Mechanism": (*first, delta, *experts(TRIED, *[LAW] * (get(TRIED) > 1)))}
    if BAYESIAN in shown:
        own: tuple[Item, ...] = experts(CLIP, FAILURE, curves.PSI)
        if get(SOURCE) == "law":
            own = (
                curves.SAMPLES,
                *(() if math.isinf(get(curves.SAMPLES)) else (FAILURE,)),
                *experts(curves.DEFINITION),
            )
        groups["Gradients"] = (
            *gradient_fields.controls(get, laws=True, picture=quantile.picture),
            *own,
            *experts(curves.READING),
        )
    amplified = experts(AMPLIFICATION) if AMPLIFIED & set(shown) else ()
    options = kinds.offered(curves.CURVES, get)
    return groups | {
        "Show": (FieldControl((curves.CURVES,), options=options, expert_options=RARE), LOG_X, LOG_Y, *amplified)
    }


def plan_of(answer: Answer[ComposeFacts]) -> Plan:
    """The present setting, by the tightest valid bound that is shown.

    Raises:
        ValueError: there is none to train with; says why.
    """
    f, key = answer.facts, answer.facts.tightest
    mechanism = gaussian(f.mechanism)
    if key is None:
        raise ValueError("None of the selected accountants bounds ε here: select another one under Show, or add noise.")
    sigma, rate = mechanism.noise_multiplier, mechanism.sample_rate
    return checked(Plan(sigma, rate, f.steps, f.delta, key, f.amplification, moment=f.options.order or 0))


def events(answer: Answer[ComposeFacts]) -> list[Event]:
    """What is done; nothing for a mechanism whose privacy loss is not known."""
    return [] if Tight.name in answer.facts.excluded else [(answer.facts.mechanism, answer.facts.steps)]


GROWTH = Question(
    "compose",
    "How does ε grow with steps?",
    growth,
    Words(headline, metrics, notes, formulas, assumptions),
    asks="epsilon",
    layout=layout,
    presets=published("abadi2", "bdpfig1", "bdpcifar", "lecuyer"),
    slow=(
        tight_part(
            events,
            wanted=lambda answer: Tight.name in answer.facts.curves,
            log="log_steps",
            attack=True,
            drawn=lambda answer: curves.with_reference(answer, with_tight(answer)),
        ),
        slow_facts(later.rank_key, later.rank_part, drawn=later.with_rank),
        slow_facts(later.sampled_key, later.sampled_part, later.sampled_part, later.with_sampled),
        slow_facts(later.beside_key, later.beside_part, drawn=later.with_truth),
        slow_facts(later.tuned_key, later.tuned_part),
        slow_facts(later.longer_key, later.longer_part, later.longer_part, curves.with_reference),
    ),
    more={
        gaussian_dp.NAME: lambda answer: gaussian_dp.gaussian_dp(
            events(answer), answer.facts.delta, of_one_run=answer.facts.tried > 1
        ),
        "Distances": distances,
        "Use it": lambda answer: use_it(lambda: plan_of(answer), card_from(answer)),
        "Accountants": lambda answer: cards(answer.facts.curves, answer.facts.amplification),
    },
    below=warned,
)

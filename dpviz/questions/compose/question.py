"""The question and its controls."""

from __future__ import annotations

import math
from dataclasses import replace

from dpviz.fields import numbers
from dpviz.gradients.law_bound import threshold_over_median
from dpviz.questions import gradient_fields, kinds, units
from dpviz.questions.answer import Slow
from dpviz.questions.compose.beside import beside_key, beside_part, with_beside
from dpviz.questions.compose.curves import ComposeFacts, growth, tight_key, tight_part, tight_soon, with_tight
from dpviz.questions.compose.details import accountants, use
from dpviz.questions.compose.distances import distances, warned
from dpviz.questions.compose.fields import (
    CURVES,
    DEFINITION,
    GRADIENTS,
    ORDER,
    PSI,
    QUANTILE,
    READING,
    SAMPLES,
    WITH_ORDERS,
    drawn,
    offered,
)
from dpviz.questions.compose.notes import notes
from dpviz.questions.compose.rank import rank_key, rank_part, with_rank
from dpviz.questions.compose.sampled import sampled_key, sampled_part, with_sampled
from dpviz.questions.compose.words import assumptions, formulas, headline, metrics
from dpviz.questions.gradient_fields import SOURCE
from dpviz.questions.gradients import Law
from dpviz.questions.layout import Expert, Groups, Item, Noted, Offered, Reader, experts
from dpviz.questions.mechanism import DELTA, SIGMA, SIZE, STEPS
from dpviz.questions.methods import RARE
from dpviz.questions.presets import presets
from dpviz.questions.question import Question
from dpviz.questions.shared import AMPLIFICATION, CLIP, DELTA_MU, FAILURE, IMAGE, LOG_X, LOG_Y


def layout(get: Reader) -> Groups:
    """What moves the curves that are drawn comes first; Gradients only where Bayesian DP is drawn."""
    shown = drawn(get)
    *first, delta = kinds.controls(get)
    first += [ORDER] if WITH_ORDERS & set(shown) else []
    if "bayesian" in shown:
        first.append(Noted(QUANTILE, "", noise_of(get)))
        linked = "The same for Bayesian DP: δ_μ = δ." if get(DELTA_MU) == DELTA_MU.default else ""
        delta = replace(units.suggested(SIZE, get), why=linked)
    groups: dict[str, tuple[Item, ...]] = {"Mechanism": (*first, delta)}
    if "bayesian" in shown:
        own: tuple[Item, ...] = experts(CLIP, FAILURE, PSI)
        if get(SOURCE) == "law":
            own = (SAMPLES, *(() if math.isinf(get(SAMPLES)) else (FAILURE,)), *experts(DEFINITION))
        groups["Gradients"] = (*gradient_fields.controls(get, laws=True), *own, *experts(DELTA_MU, READING))
    amplified = experts(AMPLIFICATION) if "basic" in shown or "strong" in shown else ()
    return groups | {"Show": (Offered(CURVES, offered(get), RARE), LOG_X, LOG_Y, *amplified, Expert(IMAGE))}


def noise_of(get: Reader) -> str:
    """What the quantile costs, beside its slider."""
    known, quantile = GRADIENTS.read(get), get(QUANTILE)
    if not isinstance(known, Law) or not 0.0 < quantile < 1.0:
        return ""
    times = get(SIGMA) * threshold_over_median(known.family, known.shape, quantile)
    return f"Noise σC: {numbers.plain(times, digits=2)} × the median norm."


GROWTH: Question[ComposeFacts] = Question(
    key="compose",
    title="How does ε grow with steps?",
    settings={
        "mechanism": kinds.MECHANISM,
        "steps": STEPS,
        "delta": DELTA,
        "curves": CURVES,
        "amplification": AMPLIFICATION,
        "log_steps": LOG_X,
        "log_epsilon": LOG_Y,
        "quantile": QUANTILE,
        "clip": CLIP,
        "delta_mu": DELTA_MU,
        "failure": FAILURE,
        "order": ORDER,
        "definition": DEFINITION,
        "samples": SAMPLES,
        "reading": READING,
        "divergence": PSI,
        "gradients": GRADIENTS,
    },
    answer=growth,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=assumptions,
    presets=presets("abadi2", "bdpfig1", "bdpmnist", "bdpcifar", "lecuyer"),
    slow=(
        Slow(tight_key, tight_part, with_tight, tight_soon),
        Slow(rank_key, rank_part, with_rank),
        Slow(sampled_key, sampled_part, with_sampled, sampled_part),
        Slow(beside_key, beside_part, with_beside),
    ),
    layout=layout,
    more={"Distances": distances, "Use it": use, "Accountants": accountants},
    below=warned,
)

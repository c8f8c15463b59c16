"""Which gradients the Bayesian curve used, their histogram, and what ε_μ says of shares of such data."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpviz.accounting.bayesian.accountant import bayesian_group, bayesian_percentile
from dpviz.charts import look
from dpviz.charts.histogram import HistogramPlot, Mark
from dpviz.fields import numbers
from dpviz.questions.answer import Answer, Note
from dpviz.questions.compose.bayesian import Promise, failure_of
from dpviz.questions.compose.curves import ComposeFacts
from dpviz.questions.compose.notes import tail_warning
from dpviz.questions.gradients import clipped
from dpviz.questions.question import Block


def warned(a: Answer[ComposeFacts]) -> list[Block]:
    """The histogram right below the notes where one of them warns of the sample's tail."""
    return [histogram(a, a.facts.bayesian)] if a.facts.bayesian is not None and tail_warning(a) else []


def distances(a: Answer[ComposeFacts]) -> list[Block]:
    """All of it."""
    found, law = a.facts.bayesian, a.facts.law
    if law is not None:
        noise = numbers.plain(law.over_median * a.given["mechanism"].noise_multiplier, digits=3)
        times = numbers.plain(law.over_median, digits=3)
        return [
            Note(
                f"Norms of a known distribution: C is {times} × the median norm, the noise's standard deviation "
                f"σC {noise} ×. No sample is drawn; distances are the clipped norms."
            )
        ]
    if found is None:
        return [Note("Bayesian DP is switched off or has no gradients: there are no distances to show.")]
    blocks: list[Block] = [Note(sources_note(found))]
    if not found.main.certified:
        text = "The shares below rest on the asymptotic estimate, which is no bound at this sample size."
        blocks.append(Note(text, "caution"))
    return [*blocks, *([] if tail_warning(a) else [histogram(a, found)]), claims(a)]


def sources_note(found: Promise) -> str:
    """Which gradients, threshold and noise the Bayesian curve used."""
    return (
        f"{found.described} C = {numbers.plain(found.threshold, digits=4)}, sensitivity "
        f"{numbers.plain(found.sensitivity, digits=4)}, noise std {numbers.plain(found.noise_std, digits=4)}."
    )


def histogram(a: Answer[ComposeFacts], found: Promise) -> HistogramPlot:
    """The distances with C and the noise level marked."""
    values = clipped(a.given["gradients"], a.given["quantile"], a.given["clip"]).distances
    marks = [Mark(found.threshold, "C", f"{numbers.plain(100 * found.over)} % of the gradients are clipped")]
    if found.sensitivity != found.threshold:
        marks.append(Mark(found.sensitivity, "2C", "the most that two clipped gradients differ", look.GREEN))
    return HistogramPlot(
        values,
        found.noise_std,
        tuple(marks),
        f"Histogram of {values.size} gradient distances with the clipping threshold and the noise level.",
        log_count=bool(np.ptp(values) > 0),
    )


def claims(a: Answer[ComposeFacts]) -> pd.DataFrame:
    """Ordinary (ε, δ) for shares of the data and for groups (Triastcyn & Faltings 2020, §4.4.1 and Appendix A)."""
    assert a.facts.bayesian is not None
    epsilon, delta_mu = float(a.facts.bayesian.main.epsilon[-1]), failure_of(a.given)
    rows = [
        {
            "holds for": f"{numbers.plain(100 * share, digits=8)} % of such data",
            "ε": numbers.epsilon(epsilon, up=True),
            "δ": numbers.delta(bayesian_percentile(delta_mu=delta_mu, share=share)),
        }
        for share in (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)
    ]
    for size in (2, 5) if np.isfinite(epsilon) else ():
        e, d = bayesian_group(epsilon_mu=epsilon, delta_mu=delta_mu, size=size)
        rows.append({"holds for": f"groups of {size}", "ε": numbers.epsilon(e, up=True), "δ": numbers.delta(d)})
    return pd.DataFrame(rows)

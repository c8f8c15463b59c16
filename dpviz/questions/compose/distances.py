"""The distances that Bayesian DP sees, as details: their histogram, and what ε_μ says of shares of the data."""

import numpy as np
import pandas as pd

from dpviz.accounting.bayesian.consequences import bayesian_group, bayesian_percentile
from dpviz.charts import HistogramPlot, Mark, look
from dpviz.fields import numbers
from dpviz.questions import Answer, Block, Note, Onward
from dpviz.questions.compose.distribution import LawCost
from dpviz.questions.compose.facts import ComposeFacts
from dpviz.questions.compose.later import gaussian_of
from dpviz.questions.compose.options import BayesianOptions
from dpviz.questions.compose.sample import Promise

# Where the same promise is seen for one release, person by person (Triastcyn & Faltings 2020, §4.4.1).
TOWN = Onward(
    "By percentile of the people: the town", "attack", {"aview": "residents", "anoise": "gaussian", "target": "2"}
)


def warned(answer: Answer[ComposeFacts]) -> list[Block]:
    """The histogram right below the notes where one of them warns of the sample's tail."""
    f = answer.facts
    return [] if f.bayesian is None or f.bayesian.dominated is None else [histogram(f.options, f.bayesian)]


def distances(answer: Answer[ComposeFacts]) -> list[Block]:
    """All of it."""
    f = answer.facts
    if f.law is not None:
        return [of_distribution(f.law, gaussian_of(f).noise_multiplier), TOWN]
    if f.bayesian is None:
        return [Note("Bayesian DP is switched off or has no gradients: there are no distances to show.")]
    return of_sample(f.options, f.bayesian)


def of_distribution(law: LawCost, noise_multiplier: float) -> Note:
    """C and the noise, in median norms."""
    times, noise = numbers.plain(law.over_median), numbers.plain(law.over_median * noise_multiplier)
    return Note(
        f"Norms of a known distribution: C is {times} × the median norm, the noise's standard deviation "
        f"σC {noise} ×. No sample is drawn; distances are the clipped norms."
    )


def of_sample(options: BayesianOptions, promise: Promise) -> list[Block]:
    """The sample in words, its histogram where it does not stand on the page already, and the table."""
    seen = options.distances
    c, most, noise = (numbers.plain(v, digits=4) for v in (seen.threshold, seen.sensitivity, promise.noise_std))
    sample = options.source.sample().description
    blocks: list[Block] = [Note(f"{sample} C = {c}, sensitivity {most}, noise std {noise}.")]
    if not promise.main.certified:
        text = "The shares below are from the estimate as printed, which is not a bound at this sample size."
        blocks.append(Note(text, "caution"))
    if promise.dominated is None:
        blocks.append(histogram(options, promise))
    return [*blocks, claims(promise.last, options.delta_mu), TOWN]


def histogram(options: BayesianOptions, promise: Promise) -> HistogramPlot:
    """The distances with C and the noise level marked."""
    seen = options.distances
    over = float(np.mean(options.source.sample().norms > seen.threshold))
    marks = [Mark(seen.threshold, "C", f"{numbers.plain(100 * over)} % of the gradients are clipped")]
    if seen.sensitivity != seen.threshold:
        marks.append(Mark(seen.sensitivity, "2C", "the most that two clipped gradients differ", look.GREEN))
    return HistogramPlot(
        seen.distances,
        promise.noise_std,
        tuple(marks),
        f"Histogram of {seen.distances.size} gradient distances with the clipping threshold and the noise level.",
        log_count=bool(np.ptp(seen.distances) > 0),
    )


def claims(epsilon_mu: float, delta_mu: float) -> pd.DataFrame:
    """Ordinary (ε, δ) for shares of the data and for groups (Triastcyn & Faltings 2020, §4.4.1 and Appendix A)."""
    rows = [
        {
            "holds for": f"{numbers.plain(100 * share, digits=8)} % of such data",
            "ε": numbers.up(epsilon_mu),
            "δ": numbers.delta(bayesian_percentile(delta_mu=delta_mu, share=share)),
        }
        for share in (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)
    ]
    for size in (2, 5) if np.isfinite(epsilon_mu) else ():
        e, d = bayesian_group(epsilon_mu=epsilon_mu, delta_mu=delta_mu, size=size)
        rows.append({"holds for": f"groups of {size}", "ε": numbers.up(e), "δ": numbers.delta(d)})
    return pd.DataFrame(rows)

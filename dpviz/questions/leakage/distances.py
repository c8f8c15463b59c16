"""Histograms of gradient distances of training and test examples, and two tests: do they differ?"""

import math
from html import escape

from dpviz.charts import Histogram, OverlaidPlot, look
from dpviz.fields import numbers
from dpviz.gradients.leakage import Attack, Leakage
from dpviz.questions import Answer, Question, published
from dpviz.questions.leakage.facts import LeakageFacts, filed, measured, table_rows
from dpviz.questions.leakage.fields import LOG_X, NETWORK, controls
from dpviz.questions.leakage.shared import leakage_words
from dpviz.questions.source import Source
from dpviz.training.covered import NOT_COVERED


def distances(*, network: Source[Leakage], log_distance: bool) -> Answer[LeakageFacts]:
    """Both histograms; an empty plot while they are measured."""
    facts = measured(network)
    samples: tuple[Histogram, ...] = ()
    empty = "nothing to draw" if facts.problem or facts.sample is not None else "measuring …"
    alt = f"Gradient distances: {empty}."
    if facts.sample is not None and (both := facts.comparison) is not None:
        samples = (
            Histogram("train", facts.sample.train_distances, look.BLUE),
            Histogram("test", facts.sample.test_distances, look.ORANGE),
        )
        alt = (
            f"Histograms of gradient distances: mean {numbers.epsilon(both.train_mean)} between training examples, "
            f"{numbers.epsilon(both.test_mean)} between test examples; p {numbers.p_value(both.welch_p)} for equal "
            f"means, {numbers.p_value(both.levene_p)} for equal variances."
        )
    plot = OverlaidPlot(
        samples=samples,
        x_title=f"distance of two examples' gradients ‖g − g′‖, share of pairs in each bin (train: {NOT_COVERED})",
        log_x=None if log_distance else False,
        empty=empty,
        alt=alt,
        subject=escape(facts.network.title),
        rows=table_rows(facts),
        numbers=filed(facts),
    )
    return Answer(plot, facts)


def result(f: LeakageFacts, _: Attack) -> str:
    """Whether the tests tell the two apart."""
    both = f.comparison
    if both is None or math.isnan(both.welch_p):
        return "its gradients allow no test."
    differ = "differ" if f.told_apart else "show no significant difference"
    means, variances = (escape(numbers.p_equals(p)) for p in (both.welch_p, both.levene_p))
    return (
        f"gradient distances of training and test examples <b>{differ}</b> (means p {means}, variances p {variances})."
    )


DISTANCES = Question(
    "leakage",
    "Do gradients of training and test examples differ?",
    distances,
    leakage_words(result),
    asks="comparison",
    settings={"network": NETWORK, "log_distance": LOG_X},
    layout=lambda get: {"Network": controls(get), "Show": (LOG_X,)},
    presets=published("bdp2", "leakuntrained", "leakheart"),
    option="distances",
)

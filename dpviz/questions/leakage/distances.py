"""Distances between gradients of training and of test examples (Triastcyn & Faltings 2020, Fig. 2)."""

from __future__ import annotations

from html import escape

from dpviz.charts import look
from dpviz.charts.histogram import Histogram, OverlaidPlot
from dpviz.fields import numbers
from dpviz.gradients.leakage import Leakage
from dpviz.questions.answer import Answer
from dpviz.questions.layout import Expert, Groups, Reader
from dpviz.questions.leakage.fields import LOG_X, NETWORK, controls
from dpviz.questions.leakage.found import Found, filed, found, p_value, rows
from dpviz.questions.leakage.words import ASSUMPTIONS, formulas, headline, metrics, notes
from dpviz.questions.presets import presets
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE
from dpviz.questions.source import Source
from dpviz.training.events import NOT_COVERED


def distances(*, network: Source[Leakage], log_distance: bool) -> Answer[Found]:
    """Both histograms; an empty plot while they are measured."""
    f = found(network)
    samples: tuple[Histogram, ...] = ()
    empty = "nothing to draw" if f.problem or f.sample is not None else "measuring …"
    alt = f"Gradient distances: {empty}."
    if f.sample is not None and (both := f.comparison) is not None:
        samples = (
            Histogram("train", f.sample.train_distances, look.BLUE),
            Histogram("test", f.sample.test_distances, look.ORANGE),
        )
        alt = (
            f"Histograms of gradient distances: mean {numbers.epsilon(both.train_mean)} between training examples, "
            f"{numbers.epsilon(both.test_mean)} between test examples; p {p_value(both.welch_p)} for equal means, "
            f"{p_value(both.levene_p)} for equal variances."
        )
    plot = OverlaidPlot(
        samples=samples,
        x_title=f"distance of two examples' gradients ‖g − g′‖, share of pairs in each bin (train: {NOT_COVERED})",
        log_x=None if log_distance else False,
        empty=empty,
        alt=alt,
        subject=escape(f.network.title),
        rows=rows(f),
        numbers=filed(f),
    )
    return Answer(plot, f)


def layout(get: Reader) -> Groups:
    return {"Network": controls(get), "Show": (LOG_X, Expert(IMAGE))}


DISTANCES: Question[Found] = Question(
    key="leakage",
    option="distances",
    title="Do its gradients tell train from test?",
    settings={"network": NETWORK, "log_distance": LOG_X},
    answer=distances,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=ASSUMPTIONS,
    presets=presets("bdp2", "leakuntrained", "leakheart"),
    layout=layout,
)

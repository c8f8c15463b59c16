"""What the clipping quantile does to norms of a known distribution: its control, with a sentence and a picture."""

from dpviz.charts.clipping import Clipping
from dpviz.fields import number, numbers
from dpviz.gradients.clipped_law import threshold_over_median
from dpviz.gradients.norm_density import norm_density
from dpviz.questions import SIGMA
from dpviz.questions.gradients import Gradients, Law, Norms
from dpviz.questions.layout import FieldControl, Reader

QUANTILE = number("quantile")
NAMES = {"weibull": "Weibull", "lognormal": "Log-normal", "halfnormal": "Half-normal"}


def control(get: Reader, gradients: Gradients | None) -> FieldControl:
    """The quantile's control."""
    norms = clipped(get, gradients)
    words = ""
    if norms is not None:
        about = "" if isinstance(gradients, Law) else "about "  # drawn norms have a quantile of their own
        words = f"Noise σC: {about}{numbers.plain(norms.noise, digits=2)} × the median norm."
    return FieldControl((QUANTILE,), caption=words, picture=norms.svg() if norms else "")


def clipped(get: Reader, gradients: Gradients | None) -> Clipping | None:
    """The distribution of the norms, clipped; None where none is known, or the quantile leaves no C."""
    quantile = get(QUANTILE)
    if not isinstance(gradients, Law | Norms) or not 0.0 < quantile < 1.0:
        return None
    family, shape = gradients.family, gradients.shape
    threshold = threshold_over_median(family, shape, quantile)
    own = "" if family == "halfnormal" else f" of shape {numbers.plain(shape)}"
    name = f"{NAMES[family]} norms{own}"
    return Clipping(norm_density(family, shape), threshold, 1.0 - quantile, get(SIGMA) * threshold, name)

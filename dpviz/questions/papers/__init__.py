"""What do five papers print, and does it hold?"""

from dpviz.questions.page import page
from dpviz.questions.papers import abadi, adaptive, bayesian, check, claims, guarantee, pate, recorded, sampled

PAPERS = page(
    "papers",
    *(claims.PRINTED_CLAIMS, check.CHECK, guarantee.GUARANTEE),
    *(bayesian.FIGURE_1, bayesian.FIGURE_3, bayesian.INFERENCE, bayesian.RARE, bayesian.TOGETHER),
    *(abadi.MAIN_THEOREM, abadi.LOSS, abadi.TAIL, abadi.CLIPPING, abadi.BOB),
    *(sampled.SAMPLED_FIGURE_1, sampled.THEOREM_5),
    *(recorded.ADULT_FIGURE, pate.PATE, recorded.REACHED_VIEW, adaptive.ADAPTIVE),
)

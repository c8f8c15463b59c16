"""What do five papers print, and does it hold?"""

from __future__ import annotations

from dpviz.questions.page import Page
from dpviz.questions.papers import abadi, adaptive, bayesian, check, claims, pate, recorded, sampled

PAPERS = Page(
    key="papers",
    title="Papers",
    icon=":material/fact_check:",
    asks="What do the papers print, and does it hold?",
    about="Every printed ε of five papers beside what comes out, their figures, and a desk to check any claim.",
    questions=(
        *(claims.PRINTED_CLAIMS, check.CHECK),
        *(bayesian.FIGURE_1, bayesian.FIGURE_3, bayesian.INFERENCE, bayesian.RARE, bayesian.TOGETHER),
        *(abadi.MAIN_THEOREM, abadi.LOSS, abadi.TAIL, abadi.CLIPPING, abadi.BOB),
        *(sampled.SAMPLED_FIGURE_1, sampled.THEOREM_5),
        *(recorded.ADULT_FIGURE, pate.PATE, recorded.REACHED_VIEW, adaptive.ADAPTIVE),
    ),
    view="pview",
    help="Printed values; a claim of your own to check; figures, theorems and examples that no other page draws.",
)

"""What do five papers print, and does it hold?"""

from __future__ import annotations

from dpviz.questions.page import Page
from dpviz.questions.papers.abadi import BOB, CLIPPING, LOSS, MAIN_THEOREM, TAIL
from dpviz.questions.papers.adaptive import ADAPTIVE
from dpviz.questions.papers.bayesian import FIGURE_1, FIGURE_3, INFERENCE, RARE, TOGETHER
from dpviz.questions.papers.check import CHECK
from dpviz.questions.papers.claims import PRINTED_CLAIMS
from dpviz.questions.papers.pate import PATE
from dpviz.questions.papers.recorded import ADULT_FIGURE, REACHED_VIEW
from dpviz.questions.papers.sampled import SAMPLED_FIGURE_1, THEOREM_5

PAPERS = Page(
    key="papers",
    title="Papers",
    icon=":material/fact_check:",
    asks="What do the papers print, and does it hold?",
    about="Every printed ε of five papers beside what comes out, their figures, and a desk to check any claim.",
    questions=(
        PRINTED_CLAIMS,
        CHECK,
        FIGURE_1,
        FIGURE_3,
        INFERENCE,
        RARE,
        TOGETHER,
        MAIN_THEOREM,
        LOSS,
        TAIL,
        CLIPPING,
        BOB,
        SAMPLED_FIGURE_1,
        THEOREM_5,
        ADULT_FIGURE,
        PATE,
        REACHED_VIEW,
        ADAPTIVE,
    ),
    view="pview",
    help="Printed values; a claim of your own to check; figures, theorems and examples that no other page draws.",
)

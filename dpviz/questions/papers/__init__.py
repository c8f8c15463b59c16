"""What do five papers print, and does it hold?"""

from __future__ import annotations

from dpviz.questions.page import Page
from dpviz.questions.papers.adult import ADULT_FIGURE
from dpviz.questions.papers.bob import BOB
from dpviz.questions.papers.check import CHECK
from dpviz.questions.papers.claims import PRINTED_CLAIMS
from dpviz.questions.papers.figure1 import FIGURE_1
from dpviz.questions.papers.figure3 import FIGURE_3
from dpviz.questions.papers.sampled_figure1 import SAMPLED_FIGURE_1
from dpviz.questions.papers.tail import TAIL
from dpviz.questions.papers.theorem1 import MAIN_THEOREM

PAPERS = Page(
    key="papers",
    title="Papers",
    icon=":material/fact_check:",
    asks="What do the papers print, and does it hold?",
    about="Every printed ε of five papers beside what comes out, their figures, and a desk to check any claim.",
    questions=(PRINTED_CLAIMS, CHECK, FIGURE_1, FIGURE_3, ADULT_FIGURE, MAIN_THEOREM, TAIL, BOB, SAMPLED_FIGURE_1),
    view="pview",
    help="Printed values; figures of the papers that no other page draws; and a claim of your own to check.",
)

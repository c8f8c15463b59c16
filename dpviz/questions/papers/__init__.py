"""What do five papers print, and does it hold?"""

from __future__ import annotations

from dpviz.questions.page import Page
from dpviz.questions.papers.claims import PRINTED_CLAIMS

PAPERS = Page(
    key="papers",
    title="Papers",
    icon=":material/fact_check:",
    asks="What do the papers print, and does it hold?",
    about="Every printed ε of five papers beside what comes out, their figures, and a desk to check any claim.",
    questions=(PRINTED_CLAIMS,),
    view="pview",
    help="Printed values; figures of the papers that no other page draws; and a claim of your own to check.",
)

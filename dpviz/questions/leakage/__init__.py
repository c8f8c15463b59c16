"""What does a trained network give away?"""

from __future__ import annotations

from dpviz.questions.leakage.questions import DISTANCES, MEMBERSHIP
from dpviz.questions.page import Page

LEAKAGE = Page(
    key="leakage",
    title="Leakage",
    icon=":material/water_drop:",
    asks="What does a trained network give away?",
    about="Gradient distances and a membership attack measured on a run's network, beside what its ε allows.",
    questions=(DISTANCES, MEMBERSHIP),
    view="lkview",
    pins_follow=True,
    help="Distances between gradients of training and of test examples (Triastcyn & Faltings 2020, Fig. 2), or the "
    "accuracy of a loss-threshold attack (Yeom et al. 2018) beside what each accountant's ε allows.",
)

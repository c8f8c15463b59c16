"""Which step size is private?"""

from __future__ import annotations

from dpviz.questions.langevin.conditions import CONDITIONS, REGION
from dpviz.questions.langevin.curves import CLIP, COST, EPSILON, MSE, MSE_EPSILON, SIZE
from dpviz.questions.page import Page

LANGEVIN = Page(
    key="langevin",
    title="Langevin",
    icon=":material/scatter_plot:",
    asks="Which step size is private?",
    about="Step-size theorems for Langevin samplers, their constants and conditions, and what the steps really cost.",
    questions=(COST, EPSILON, SIZE, CLIP, CONDITIONS, REGION, MSE, MSE_EPSILON),
    view="lview",
    help="One chart at a time; the settings stay.",
    pins_follow=True,
)

"""Which step size is private?"""

from __future__ import annotations

from dpviz.questions.langevin.conditions import CONDITIONS
from dpviz.questions.langevin.cost import COST
from dpviz.questions.langevin.errors import MSE, MSE_EPSILON
from dpviz.questions.langevin.region import REGION
from dpviz.questions.langevin.sizes import CLIP, EPSILON, SIZE
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

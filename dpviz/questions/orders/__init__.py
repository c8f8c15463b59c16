"""Which Rényi order decides, and what is known of R(α)?"""

from __future__ import annotations

from dpviz.questions.orders.questions import CONCENTRATED, DECIDING, ONE_STEP, THRESHOLDS
from dpviz.questions.page import Page

ORDERS = Page(
    key="orders",
    title="Orders",
    icon=":material/format_list_numbered:",
    asks="Which order decides?",
    about="ε by Rényi order with the minimum marked; what one step costs, exactly, in closed form, asymptotically.",
    questions=(DECIDING, ONE_STEP, THRESHOLDS, CONCENTRATED),
    view="oview",
    help="One chart at a time: ε at T by order, the divergence R(α) of one step, ε by order for several clipping "
    "thresholds (Triastcyn & Faltings 2020, Fig. 5), or R(α)/α, which concentrated DP bounds.",
    pins_follow=True,
)

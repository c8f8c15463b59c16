"""The Orders page: the Rényi order that decides, R(α) of one step and the outputs that decide it,
clipping thresholds, and concentrated DP."""

from dpviz.questions.orders.concentrated import CONCENTRATED
from dpviz.questions.orders.deciding import DECIDING
from dpviz.questions.orders.densities import DENSITIES
from dpviz.questions.orders.divergence import ONE_STEP
from dpviz.questions.orders.thresholds import THRESHOLDS
from dpviz.questions.page import page

ORDERS = page("orders", DECIDING, ONE_STEP, DENSITIES, THRESHOLDS, CONCENTRATED)

"""Which Rényi order decides, and what is known of R(α)?"""

from dpviz.questions.orders.questions import CONCENTRATED, DECIDING, ONE_STEP, THRESHOLDS
from dpviz.questions.page import page

ORDERS = page("orders", DECIDING, ONE_STEP, THRESHOLDS, CONCENTRATED)

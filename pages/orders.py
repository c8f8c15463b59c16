"""Orders: which order decides?"""

from dpviz.questions.orders import ORDERS
from dpviz.ui import render

render.show(ORDERS)

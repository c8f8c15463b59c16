"""Orders: which Rényi order decides?"""

from dpviz.ui import frame
from dpviz.ui.orders.study import STUDY

frame.show(STUDY)

"""Budget: may I stop when I like?"""

from dpviz.ui import frame
from dpviz.ui.budget.study import STUDY

frame.show(STUDY)

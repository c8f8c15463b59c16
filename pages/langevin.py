"""Langevin: which step size is private?"""

from dpviz.ui import frame
from dpviz.ui.langevin.study import STUDY

frame.show(STUDY)

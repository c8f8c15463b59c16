"""Leakage: what does a trained network give away?"""

from dpviz.ui import frame
from dpviz.ui.leakage.study import STUDY

frame.show(STUDY)

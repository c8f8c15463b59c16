"""Noise: how much noise do I need?"""

from dpviz.ui import frame
from dpviz.ui.noise.study import STUDY

frame.show(STUDY)

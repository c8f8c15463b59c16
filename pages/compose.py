"""Compose: how does ε grow with steps?"""

from dpviz.ui import frame
from dpviz.ui.compose.study import STUDY

frame.show(STUDY)

"""Langevin: which step size is private?"""

from dpviz.questions.langevin import LANGEVIN
from dpviz.ui import render

render.show(LANGEVIN)

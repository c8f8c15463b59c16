"""Leakage: what does a trained network give away?"""

from dpviz.questions.leakage import LEAKAGE
from dpviz.ui import render

render.show(LEAKAGE)

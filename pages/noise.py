"""Noise: how much noise do I need?"""

from dpviz.questions.noise import NOISE
from dpviz.ui import render

render.show(NOISE)

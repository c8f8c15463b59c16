"""Compose: how does ε grow with steps?"""

from dpviz.questions.compose import COMPOSE
from dpviz.ui import render

render.show(COMPOSE)

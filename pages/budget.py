"""Budget: may I stop when I like?"""

from dpviz.questions.budget import BUDGET
from dpviz.ui import render

render.show(BUDGET)

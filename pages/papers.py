"""Papers: what do the papers print, and does it hold?"""

from dpviz.questions.papers import PAPERS
from dpviz.ui import render

render.show(PAPERS)

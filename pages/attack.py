"""Attack: what can an attacker do?"""

from dpviz.questions.attack import ATTACK
from dpviz.ui import render

render.show(ATTACK)

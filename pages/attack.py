"""Attack: what can an attacker do?"""

from dpviz.ui import frame
from dpviz.ui.attack.study import STUDY

frame.show(STUDY)

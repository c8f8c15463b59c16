"""What can an attacker do?"""

from dpviz.questions.attack.roc import ROC
from dpviz.questions.attack.success import SUCCESS
from dpviz.questions.attack.town import RESIDENTS, SEEN, TOWN
from dpviz.questions.page import page

ATTACK = page("attack", SUCCESS, ROC, TOWN, SEEN, RESIDENTS)

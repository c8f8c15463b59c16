"""The Attack page: guesses under (ε, δ), one release, rebuilt data, the ROC curve, an audit, and the town with one
outlier.
"""

from dpviz.questions.attack.audit import AUDIT
from dpviz.questions.attack.reconstruction import RECONSTRUCTION
from dpviz.questions.attack.release import RELEASE
from dpviz.questions.attack.residents import RESIDENTS
from dpviz.questions.attack.roc import ROC
from dpviz.questions.attack.seen import SEEN
from dpviz.questions.attack.success import SUCCESS
from dpviz.questions.attack.town import TOWN
from dpviz.questions.page import page

ATTACK = page("attack", SUCCESS, RELEASE, RECONSTRUCTION, ROC, AUDIT, TOWN, SEEN, RESIDENTS)

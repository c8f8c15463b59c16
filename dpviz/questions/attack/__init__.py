"""What can an attacker do?"""

from __future__ import annotations

from dpviz.questions.attack.roc import ROC
from dpviz.questions.attack.success import SUCCESS
from dpviz.questions.attack.town import RESIDENTS, SEEN, TOWN
from dpviz.questions.page import Page

ATTACK = Page(
    key="attack",
    title="Attack",
    icon=":material/search:",
    asks="What can an attacker do?",
    about="Success against ε, ROC regions of the mechanism, and a town whose outlier stands out.",
    questions=(SUCCESS, ROC, TOWN, SEEN, RESIDENTS),
    view="aview",
    help="One chart at a time: success against ε; the attacker's true and false alarms (ROC) under this mechanism; and "
    "the town of Triastcyn & Faltings 2020, §3, played many times.",
)

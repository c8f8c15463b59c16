"""May I stop when I like?"""

from __future__ import annotations

from dpviz.questions.budget.individual import INDIVIDUAL
from dpviz.questions.budget.policy import POLICY
from dpviz.questions.budget.spend import SPEND
from dpviz.questions.budget.stop import STOP
from dpviz.questions.budget.trained import TRAINED
from dpviz.questions.page import Page

BUDGET = Page(
    key="budget",
    title="Budget",
    icon=":material/account_balance_wallet:",
    asks="May I stop when I like?",
    about="Filters and odometers beside what must be planned; a budget spent by hand; policies, simulated and trained.",
    questions=(STOP, SPEND, POLICY, TRAINED, INDIVIDUAL),
    view="bview",
    help="One chart at a time: what stopping whenever one likes costs; a budget spent by hand, block by block; noise "
    "or batch adapted while training, on an assumed accuracy and in recorded runs; and a budget for each person.",
)

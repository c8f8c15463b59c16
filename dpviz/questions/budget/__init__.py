"""The Budget page: stopping at any time, spending by hand, adaptive policies, recorded runs, and individual budgets."""

from dpviz.questions.budget.chosen_stop import CHOSEN_STOP
from dpviz.questions.budget.individual import INDIVIDUAL
from dpviz.questions.budget.natural import NATURAL
from dpviz.questions.budget.policy import POLICY
from dpviz.questions.budget.spend import SPEND
from dpviz.questions.budget.stop import STOP
from dpviz.questions.budget.trained import TRAINED
from dpviz.questions.page import page

BUDGET = page("budget", STOP, CHOSEN_STOP, NATURAL, SPEND, POLICY, TRAINED, INDIVIDUAL)

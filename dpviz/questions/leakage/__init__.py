"""What does a trained network give away?"""

from dpviz.questions.leakage.questions import DISTANCES, MEMBERSHIP
from dpviz.questions.page import page

LEAKAGE = page("leakage", DISTANCES, MEMBERSHIP)

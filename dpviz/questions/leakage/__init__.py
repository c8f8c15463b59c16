"""What does a trained network give away?"""

from __future__ import annotations

from dpviz.questions.leakage.questions import DISTANCES, MEMBERSHIP
from dpviz.questions.page import page

LEAKAGE = page("leakage", DISTANCES, MEMBERSHIP)

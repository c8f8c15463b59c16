"""How does ε grow with steps?"""

from __future__ import annotations

from dpviz.questions.compose.question import GROWTH
from dpviz.questions.page import page

COMPOSE = page("compose", GROWTH)

"""How does ε grow with steps?"""

from dpviz.questions.compose.question import GROWTH
from dpviz.questions.page import page

COMPOSE = page("compose", GROWTH)

"""The Compose page: ε along the steps, by every accountant."""

from dpviz.questions.compose.question import GROWTH
from dpviz.questions.page import page

COMPOSE = page("compose", GROWTH)

"""The Compose page: ε along the steps, by every accountant; and what a run costs each person."""

from dpviz.questions.compose.people import PEOPLE
from dpviz.questions.compose.question import GROWTH
from dpviz.questions.page import page

COMPOSE = page("compose", GROWTH, PEOPLE)

"""All questions, by page: the one list that the app, the shell and `dpviz.ask` go by."""

from typing import Any

from dpviz.questions import Question
from dpviz.questions.attack import ATTACK
from dpviz.questions.budget import BUDGET
from dpviz.questions.compose import COMPOSE
from dpviz.questions.langevin import LANGEVIN
from dpviz.questions.leakage import LEAKAGE
from dpviz.questions.noise import NOISE
from dpviz.questions.orders import ORDERS
from dpviz.questions.page import Page
from dpviz.questions.papers import PAPERS
from dpviz.questions.train import PAGE as TRAIN

PAGES: tuple[Page, ...] = (COMPOSE, ORDERS, ATTACK, NOISE, BUDGET, LANGEVIN, TRAIN, LEAKAGE, PAPERS)

QUESTIONS: dict[str, Question[Any]] = {question.key: question for page in PAGES for question in page.questions}

"""All questions, by page, in the navigation's order: the one list that the app, the shell and `dpviz.ask` go by."""

from dpviz.questions import AnyQuestion
from dpviz.questions.attack import ATTACK
from dpviz.questions.budget import BUDGET
from dpviz.questions.check.page import PAGE as CHECK
from dpviz.questions.compose import COMPOSE
from dpviz.questions.langevin import LANGEVIN
from dpviz.questions.leakage import LEAKAGE
from dpviz.questions.noise import NOISE
from dpviz.questions.orders import ORDERS
from dpviz.questions.page import Page
from dpviz.questions.papers import PAPERS
from dpviz.questions.train import PAGE as TRAIN

PAGES: tuple[Page, ...] = (COMPOSE, ORDERS, LANGEVIN, ATTACK, NOISE, BUDGET, TRAIN, LEAKAGE, CHECK, PAPERS)

QUESTIONS: dict[str, AnyQuestion] = {question.key: question for page in PAGES for question in page.questions}

"""The Check page: a program's claimed ε, its settings, the guarantee card, and what a secret N costs."""

from dpviz.questions.check.public_size import PUBLIC
from dpviz.questions.check.question import CHECK
from dpviz.questions.check.translation import TRANSLATION
from dpviz.questions.guarantee.question import GUARANTEE
from dpviz.questions.page import page

PAGE = page("check", CHECK, TRANSLATION, GUARANTEE, PUBLIC)

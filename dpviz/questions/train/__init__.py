"""The Train page's question: the cost of a private run."""

from dpviz.questions.page import page
from dpviz.questions.train.question import TRAIN

PAGE = page("train", TRAIN)

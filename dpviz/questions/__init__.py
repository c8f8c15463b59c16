"""Questions about privacy, one a file: settings, one pure function, and words; neither Streamlit nor torch.

What most questions are made of is imported from here.
"""

from dpviz.questions.accountant_cards import cards
from dpviz.questions.answer import LATER, Answer, AnyAnswer, Folded, Onward, Rerun, Slow, given, slow_facts
from dpviz.questions.layout import FieldControl, Groups, Item, Layout, Reader, experts
from dpviz.questions.mechanism import DELTA, RATE, SETTINGS, SIGMA, SIZE, STEPS
from dpviz.questions.presets import published
from dpviz.questions.question import AnyQuestion, Block, Compound, Question, Setting, annotated, value_of
from dpviz.questions.shared import LAW, LOG_X, LOG_Y, TRIED
from dpviz.questions.words import Formula, Metric, Note, Words, setting

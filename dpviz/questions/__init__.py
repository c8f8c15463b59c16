"""Questions about privacy, one a file: settings, one pure function, and words; neither Streamlit nor torch.

What most questions are made of is imported from here.
"""

from dpviz.questions.accountant_cards import cards
from dpviz.questions.answer import LATER, Answer, Facts, Folded, Metric, Note, Onward, Rerun, Slow, given, slow_facts
from dpviz.questions.chart_tables import chart, style
from dpviz.questions.layout import Expert, Groups, InUnits, Item, Layout, Noted, Offered, Own, Reader, Row, experts
from dpviz.questions.make import Named, make_question
from dpviz.questions.mechanism import DELTA, RATE, SETTINGS, SIGMA, SIZE, STEPS
from dpviz.questions.question import Block, Compound, Question, Setting, annotated, value_of
from dpviz.questions.shared import LAW, LOG_X, LOG_Y, TRIED
from dpviz.questions.words import rows, table, tables_of

"""How much noise do I need?"""

from dpviz.questions.noise.correlated import CORRELATED
from dpviz.questions.noise.expected import EXPECTED
from dpviz.questions.noise.question import ALONG_NOISE, SOLVE
from dpviz.questions.noise.risk import RISK_FIRST
from dpviz.questions.page import page

NOISE = page("noise", ALONG_NOISE, SOLVE, RISK_FIRST, EXPECTED, CORRELATED)

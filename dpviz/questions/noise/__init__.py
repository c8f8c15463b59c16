"""The Noise page: noise for a target ε or a target risk, expected accuracy, and correlated noise."""

from dpviz.questions.noise.along_noise import ALONG_NOISE
from dpviz.questions.noise.correlated import CORRELATED
from dpviz.questions.noise.expected import EXPECTED
from dpviz.questions.noise.risk import RISK_FIRST
from dpviz.questions.noise.solve import SOLVE
from dpviz.questions.page import page

NOISE = page("noise", ALONG_NOISE, SOLVE, RISK_FIRST, EXPECTED, CORRELATED)

"""The Leakage page: gradient distances of a trained network, and a membership attack on it."""

from dpviz.questions.leakage.distances import DISTANCES
from dpviz.questions.leakage.membership import MEMBERSHIP
from dpviz.questions.page import page

LEAKAGE = page("leakage", DISTANCES, MEMBERSHIP)

"""The Langevin page: the largest private step size, what steps cost, where Theorem 3 applies, the error, and a path."""

from dpviz.questions.langevin.conditions import CONDITIONS
from dpviz.questions.langevin.cost import COST
from dpviz.questions.langevin.errors import MSE, MSE_EPSILON
from dpviz.questions.langevin.posterior import POSTERIOR
from dpviz.questions.langevin.region import REGION
from dpviz.questions.langevin.step_sizes import AGAINST_CLIP, AGAINST_SIZE, COMPARED
from dpviz.questions.page import page

LANGEVIN = page("langevin", COMPARED, COST, AGAINST_SIZE, AGAINST_CLIP, CONDITIONS, REGION, MSE, MSE_EPSILON, POSTERIOR)

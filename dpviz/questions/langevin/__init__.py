"""Which step size is private?"""

from dpviz.questions.langevin.conditions import CONDITIONS, REGION
from dpviz.questions.langevin.curves import CLIP, COST, EPSILON, MSE, MSE_EPSILON, SIZE
from dpviz.questions.page import page

LANGEVIN = page("langevin", COST, EPSILON, SIZE, CLIP, CONDITIONS, REGION, MSE, MSE_EPSILON)

"""PATE: ε of an ensemble's noisy answers, whatever the votes, at known votes, and made fit to be published.

Papernot et al. 2017, 2018.
"""

from dpviz.accounting.pate.answers import pate_epsilon as pate_epsilon
from dpviz.accounting.pate.answers import pate_epsilon_at as pate_epsilon_at
from dpviz.accounting.pate.release import pate_epsilon_released as pate_epsilon_released
from dpviz.accounting.pate.smooth_release import SmoothRelease as SmoothRelease

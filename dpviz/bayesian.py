"""Bayesian DP beside `dpviz.bayesian_epsilon`: the missing number, samples that are needed, and what follows from ε_μ.

Triastcyn & Faltings 2020.
"""

from dpviz.accounting.bayesian.consequences import bayesian_basic as bayesian_basic
from dpviz.accounting.bayesian.consequences import bayesian_group as bayesian_group
from dpviz.accounting.bayesian.consequences import bayesian_percentile as bayesian_percentile
from dpviz.accounting.bayesian.consequences import binary_estimator as binary_estimator
from dpviz.accounting.bayesian.sample_size import bayesian_samples as bayesian_samples
from dpviz.accounting.bayesian.solve import solve_bayesian as solve_bayesian
from dpviz.gradients.law_tight import bayesian_law_tight as bayesian_law_tight

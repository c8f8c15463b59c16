"""The library's public names: `dpviz` offers them as its own, and questions take them from here.

Not from `dpviz` itself: its `ask` imports the questions. A name that is imported here under itself is public.
"""

from dpviz.accounting.adaptive.filter import BudgetExceeded as BudgetExceeded
from dpviz.accounting.adaptive.filter import Filter as Filter
from dpviz.accounting.adaptive.filter import IndividualFilter as IndividualFilter
from dpviz.accounting.adaptive.filter import individual_steps as individual_steps
from dpviz.accounting.adaptive.odometer import Odometer as Odometer
from dpviz.accounting.adaptive.odometer import odometer_epsilon as odometer_epsilon
from dpviz.accounting.adaptive.rogers import rogers_filter_steps as rogers_filter_steps
from dpviz.accounting.adaptive.rogers import rogers_odometer_epsilon as rogers_odometer_epsilon
from dpviz.accounting.attack.best_accuracy import Accuracy as Accuracy
from dpviz.accounting.attack.best_accuracy import best_accuracy as best_accuracy
from dpviz.accounting.attack.membership import attack_success as attack_success
from dpviz.accounting.attack.membership import gaussian_roc as gaussian_roc
from dpviz.accounting.attack.membership import posterior_belief as posterior_belief
from dpviz.accounting.attack.membership import profile_roc as profile_roc
from dpviz.accounting.attack.membership import profile_success as profile_success
from dpviz.accounting.attack.membership import roc_bound as roc_bound
from dpviz.accounting.attack.membership import sure_success as sure_success
from dpviz.accounting.bayesian.accountant import bayesian_basic as bayesian_basic
from dpviz.accounting.bayesian.accountant import bayesian_cost as bayesian_cost
from dpviz.accounting.bayesian.accountant import bayesian_epsilon as bayesian_epsilon
from dpviz.accounting.bayesian.accountant import bayesian_group as bayesian_group
from dpviz.accounting.bayesian.accountant import bayesian_percentile as bayesian_percentile
from dpviz.accounting.bayesian.accountant import bayesian_samples as bayesian_samples
from dpviz.accounting.bayesian.accountant import binary_estimator as binary_estimator
from dpviz.accounting.bayesian.solve import solve_bayesian as solve_bayesian
from dpviz.accounting.bound import Bound as Bound
from dpviz.accounting.langevin.cost import langevin_epsilon as langevin_epsilon
from dpviz.accounting.langevin.cost import langevin_noise_multiplier as langevin_noise_multiplier
from dpviz.accounting.langevin.posterior_sample import PosteriorSample as PosteriorSample
from dpviz.accounting.langevin.posterior_sample import logistic_spread as logistic_spread
from dpviz.accounting.langevin.step_sizes import langevin_step_size as langevin_step_size
from dpviz.accounting.ledger import Ledger as Ledger
from dpviz.accounting.methods import METHODS as METHODS
from dpviz.accounting.methods import accountant as accountant
from dpviz.accounting.methods import delta as delta
from dpviz.accounting.methods import epsilon as epsilon
from dpviz.accounting.methods import renyi_divergence as renyi_divergence
from dpviz.accounting.pate.answers import pate_epsilon as pate_epsilon
from dpviz.accounting.pate.answers import pate_epsilon_at as pate_epsilon_at
from dpviz.accounting.pate.release import SmoothRelease as SmoothRelease
from dpviz.accounting.pate.release import pate_epsilon_released as pate_epsilon_released
from dpviz.accounting.renyi.closed_form import asymptotic_last_order as asymptotic_last_order
from dpviz.accounting.renyi.closed_form import asymptotic_moment as asymptotic_moment
from dpviz.accounting.renyi.closed_form import asymptotic_reason as asymptotic_reason
from dpviz.accounting.renyi.closed_form import closed_form_divergence as closed_form_divergence
from dpviz.accounting.schedules import PowerSchedule as PowerSchedule
from dpviz.accounting.solve import solve as solve
from dpviz.gradients.law_bound import bayesian_law_epsilon as bayesian_law_epsilon
from dpviz.gradients.law_tight import law_tight as _law_tight
from dpviz.mechanisms import Adjacency as Adjacency
from dpviz.mechanisms import Laplace as Laplace
from dpviz.mechanisms import Mechanism as Mechanism
from dpviz.mechanisms import PersonRows as PersonRows
from dpviz.mechanisms import ReplaceOneGaussian as ReplaceOneGaussian
from dpviz.mechanisms import SampledGaussian as SampledGaussian

bayesian_law_tight = _law_tight

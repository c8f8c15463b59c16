"""The library's public names: `dpviz` offers them as its own, and questions take them from here.

Not from `dpviz` itself: its `ask` imports the questions. A name that is imported here is public.
"""

from dpviz.accounting.adaptive.filter import BudgetExceeded, Filter
from dpviz.accounting.adaptive.fully_adaptive import FullyAdaptiveFilter, fully_adaptive_spent, fully_adaptive_steps
from dpviz.accounting.adaptive.individual import IndividualFilter, individual_steps
from dpviz.accounting.adaptive.odometer import Odometer, odometer_epsilon
from dpviz.accounting.adaptive.rogers import rogers_filter_steps, rogers_odometer_epsilon
from dpviz.accounting.attack.best_accuracy import Accuracy, best_accuracy
from dpviz.accounting.attack.membership import (
    attack_success,
    gaussian_roc,
    posterior_belief,
    profile_roc,
    profile_success,
    roc_bound,
    sure_success,
)
from dpviz.accounting.attack.trade_off import GaussianMu, best_advantage, best_tpr, gaussian_mu
from dpviz.accounting.bayesian.accountant import bayesian_cost, bayesian_epsilon
from dpviz.accounting.bayesian.consequences import bayesian_basic, bayesian_group, bayesian_percentile, binary_estimator
from dpviz.accounting.bayesian.sample_size import bayesian_samples
from dpviz.accounting.bayesian.solve import solve_bayesian
from dpviz.accounting.bound import Bound
from dpviz.accounting.langevin.cost import langevin_epsilon, langevin_noise_multiplier
from dpviz.accounting.langevin.last_iterate import last_iterate_epsilon
from dpviz.accounting.langevin.posterior_sample import PosteriorSample, logistic_spread
from dpviz.accounting.langevin.published_bounds import langevin_step_size
from dpviz.accounting.ledger import Ledger
from dpviz.accounting.methods import METHODS, accountant, delta, epsilon, renyi_divergence
from dpviz.accounting.pate.answers import pate_epsilon, pate_epsilon_at
from dpviz.accounting.pate.release import pate_epsilon_released
from dpviz.accounting.pate.smooth_release import SmoothRelease
from dpviz.accounting.renyi.asymptotic import asymptotic_last_order, asymptotic_moment, asymptotic_reason
from dpviz.accounting.renyi.closed_form import closed_form_divergence
from dpviz.accounting.schedules import PowerSchedule
from dpviz.accounting.solve import solve
from dpviz.accounting.tuning import tuned_epsilon
from dpviz.gradients.law_bound import bayesian_law_epsilon
from dpviz.gradients.law_tight import bayesian_law_tight
from dpviz.mechanisms import (
    Adjacency,
    BandedNoise,
    CorrelatedNoise,
    FixedPartition,
    FixedSize,
    Laplace,
    Mechanism,
    PersonOf,
    PersonRows,
    RandomAllocation,
    ReplaceOneGaussian,
    SampledGaussian,
    SecretPartition,
    Shuffled,
    TruncatedPoisson,
    WithReplacement,
    of_person,
)

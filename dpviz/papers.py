"""Formulas of papers that other names of the library replace: for comparing with what was printed."""

from dpviz.accounting.adaptive.fully_adaptive import fully_adaptive_spent as fully_adaptive_spent
from dpviz.accounting.adaptive.fully_adaptive import fully_adaptive_steps as fully_adaptive_steps
from dpviz.accounting.adaptive.individual import individual_steps as individual_steps
from dpviz.accounting.adaptive.rogers import rogers_filter_steps as rogers_filter_steps
from dpviz.accounting.adaptive.rogers import rogers_odometer_epsilon as rogers_odometer_epsilon
from dpviz.accounting.attack.membership import sure_success as sure_success
from dpviz.accounting.renyi.asymptotic import asymptotic_last_order as asymptotic_last_order
from dpviz.accounting.renyi.asymptotic import asymptotic_moment as asymptotic_moment
from dpviz.accounting.renyi.asymptotic import asymptotic_reason as asymptotic_reason

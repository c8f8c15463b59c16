"""Langevin methods beside `dpviz.langevin_epsilon`: their noise, their last model alone, and one posterior sample."""

from dpviz.accounting.langevin.cost import langevin_noise_multiplier as langevin_noise_multiplier
from dpviz.accounting.langevin.last_iterate import last_iterate_epsilon as last_iterate_epsilon
from dpviz.accounting.langevin.posterior_sample import PosteriorSample as PosteriorSample
from dpviz.accounting.langevin.posterior_sample import logistic_spread as logistic_spread

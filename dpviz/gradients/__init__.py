"""Where gradient distances come from: synthetic families, an uploaded file, a measured network."""

from dpviz.gradients.families import FAMILIES, draw_norms, population_cost, tail_is_infinite
from dpviz.gradients.law_sample import Truth, true_norms_epsilon, true_vectors_epsilon
from dpviz.gradients.sample import (
    PAIRINGS,
    GradientSample,
    Pairs,
    pairs_from_distances,
    pairs_from_products,
    weibull_vectors,
)
from dpviz.gradients.upload import columns, read_distances

__all__ = [
    "FAMILIES",
    "PAIRINGS",
    "GradientSample",
    "Pairs",
    "Truth",
    "columns",
    "draw_norms",
    "pairs_from_distances",
    "pairs_from_products",
    "population_cost",
    "read_distances",
    "tail_is_infinite",
    "true_norms_epsilon",
    "true_vectors_epsilon",
    "weibull_vectors",
]

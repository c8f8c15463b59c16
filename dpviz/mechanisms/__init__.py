"""Mechanisms, the samplers and noises of a training step, as values; new ones are registered here and nowhere else."""

from dpviz.mechanisms.correlated import BandedNoise, Correlated, CorrelatedEpoch, CorrelatedNoise
from dpviz.mechanisms.fixed_size import FixedSize, WithReplacement
from dpviz.mechanisms.laplace import Laplace
from dpviz.mechanisms.mechanism import Adjacency, Event, History, Mechanism, merge_events
from dpviz.mechanisms.person import PersonOf, of_person, one_row_of
from dpviz.mechanisms.person_rows import PersonRows
from dpviz.mechanisms.random_allocation import RandomAllocation
from dpviz.mechanisms.randomised_response import RandomisedResponse
from dpviz.mechanisms.sampled_gaussian import GaussianEvent, ReplaceOneGaussian, SampledGaussian
from dpviz.mechanisms.shuffled import FixedPartition, SecretPartition, Shuffled
from dpviz.mechanisms.truncated_poisson import TruncatedPoisson

# Every mechanism that pages, `dpviz.ask` and the shell offer, in their order; the contract suite tries all of them.
MECHANISMS: tuple[type[Mechanism], ...] = (
    SampledGaussian,
    ReplaceOneGaussian,
    TruncatedPoisson,
    FixedSize,
    WithReplacement,
    RandomAllocation,
    Shuffled,
    FixedPartition,
    SecretPartition,
    CorrelatedNoise,
    BandedNoise,
    Laplace,
)

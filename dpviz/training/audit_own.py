"""An audit of one's own training: many runs with and without one row, attacked along that row's gradient.

    def training(member: bool) -> PrivateTraining:
        x, y = read_data()
        x[0] = CANARY if member else 0.0     # N is public: it stays what it is
        network = make_network()             # the same start every time
        return PrivateTraining(network, (x, y), SGD(network.parameters(), lr=0.1), …, disjoint_data=True)

    >>> own_audit(training, runs=500)  # doctest: +SKIP
    OwnAudit(...)

Where the claim is for one row more or less, runs without the row leave it out of their batches, whatever stands in its
place: a network with biases has a gradient at zeros too, and one row in the place of another moves sums twice as far.
Where the claim is for one row in the place of another, it is taken in.

The attack is one of many: it reads the parameters after the last step alone, along the clipped gradient at the start.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dpviz._arrays import Array
from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.mechanisms.mechanism import Adjacency
from dpviz.training.audit import leave_out
from dpviz.training.measured import single_thread
from dpviz.training.private import PrivateTraining
from dpviz.training.progress import advance, task
from dpviz.training.samplers import events

Make = Callable[[bool], PrivateTraining]


class OwnAudit(NamedTuple):
    """What was made of the runs.

    Attributes:
        without, with_it: Scores of runs without the row and with it, (runs,) each.
        claim: The tight ε of the plan at δ, from above.
        delta: δ.
    """

    without: Array
    with_it: Array
    claim: float
    delta: float


def own_audit(make: Make, *, runs: int, delta: float | None = None) -> OwnAudit:
    """Scores of so many runs a side: how far each moved the parameters against the row's gradient.

    Args:
        make: Makes a training that has taken no step, with the row (True) and without it (False). Everything else is
            the same each time, but for the randomness of batches and noise.
        runs: A side.
        delta: δ at which the claim is audited; None for that of the plan.

    Raises:
        ValueError: where the data with and without it do not differ in exactly one row, or the plans differ, or what is
            protected are persons.
    """
    scores: tuple[list[float], list[float]] = ([], [])
    first = make(False), make(True)
    if not all(isinstance(training, PrivateTraining) for training in first):
        raise ValueError(f"Expected a PrivateTraining from the function, found {type(first[0]).__name__}.")
    mechanism, steps = first[0].mechanism, len(first[0])
    replaced = mechanism.adjacency is Adjacency.REPLACE_ONE
    row, line = _row_and_gradient(*first, replaced=replaced)
    if (first[1].mechanism, len(first[1])) != (mechanism, steps):
        raise ValueError("Expected trainings with one plan, with the row and without it; found two.")
    with single_thread(), task("training with and without the row", "runs", 2 * runs):
        for run in range(2 * runs):
            training = first[run] if run < 2 else make(run % 2 == 1)
            if not replaced and run % 2 == 0:
                leave_out(training, row)
            start = _flat(training)
            for _ in training:
                pass
            scores[run % 2].append(float((start - _flat(training)) @ line))
            advance()
    at = first[0].settings.delta if delta is None else delta
    claim = tight_epsilon_of_events(events(mechanism, steps), at).upper
    return OwnAudit(np.array(scores[0]), np.array(scores[1]), float(claim), at)


def _flat(training: PrivateTraining) -> Tensor:
    """The parameters that are trained, (p,), in double precision."""
    return torch.cat([part.detach().double().flatten().cpu() for part in training._binding.trained])


def _row_and_gradient(without: PrivateTraining, with_it: PrivateTraining, *, replaced: bool) -> tuple[int, Tensor]:
    """Which row it is, and by what it changes the clipped sum of its first step, (p,)."""
    if with_it._persons is not None:
        raise ValueError("Expected a training that protects rows; an audit of persons is not available.")
    if without.examples != with_it.examples:
        raise ValueError(
            f"Expected as many rows with the row as without it, found {with_it.examples} and {without.examples}: give "
            "it an input without a gradient where it is out, such as zeros."
        )
    every = np.arange(without.examples)
    (x, y), (other_x, other_y) = with_it._read(every), without._read(every)
    if not isinstance(x, Tensor) or not isinstance(other_x, Tensor):
        raise ValueError("Expected data with one input; an audit of several inputs is not available.")
    apart = (x != other_x).flatten(1).any(dim=1) | (y != other_y).view(len(y), -1).any(dim=1)
    if (count := int(apart.sum())) != 1:
        raise ValueError(f"Expected data that differ in one row, with the row and without it; found {count}.")
    sums = [
        training._method.engine.clipped(part[apart], label[apart], max_grad_norm=training.settings.max_grad_norm).total
        for training, part, label in ((with_it, x, y), (without, other_x, other_y))
    ]
    total = sums[0].double() - sums[1].double() if replaced else sums[0].double()
    return int(apart.nonzero()), total.cpu()

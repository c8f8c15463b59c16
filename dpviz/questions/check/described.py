"""Bounds on the ε of a described training, from above and below."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dpviz import library as dpviz
from dpviz._remember import remembered
from dpviz.accounting.methods import Renyi
from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.accounting.pld.plan import rough_epsilon
from dpviz.accounting.tuning import ALL_BOUNDS, RENYI_ALONE, Law, Method, Search
from dpviz.mechanisms import Event, Mechanism
from dpviz.questions import kinds
from dpviz.questions.budget.blocks import Block
from dpviz.questions.check.fields import KINDS, loader_batches, whole_steps

LARGEST = 500.0  # ε beyond which no numerical upper end is computed, but one in closed form
Events = tuple[Event, ...]


@dataclass(frozen=True)
class Described:
    """What is known of a description.

    Attributes:
        above: events behind the upper bound.
        below: lists of events, the ε of each of which some such training reaches on some data: of all rows of a
            person, and of one row, since a person may have fewer.
        loose: events that show no less than `above`, and have Rényi divergences.
        why: the reason, with its source.
        runs, law: how many such trainings there are, of which the best is released, and how their number is chosen
            (`dpviz.tuned_epsilon`). Where it is fixed, the events above are those of all of them.
    """

    above: Events
    below: tuple[Events, ...]
    loose: Events
    why: str
    runs: int = 1
    law: Law = "fixed"

    @property
    def has_random_runs(self) -> bool:
        """Whether the number of runs is random."""
        return self.law != "fixed"

    def best_of(self, runs: int, law: Law) -> Described:
        """The best of so many."""
        if runs == 1:
            return self
        if law == "fixed":
            above, loose = (tuple((step, n * runs) for step, n in events) for events in (self.above, self.loose))
            return dataclasses.replace(self, above=above, loose=loose, runs=runs)
        if len(self.above) > 1:
            raise ValueError("Steps of several kinds have no ε for a random number of runs: choose a fixed number.")
        return dataclasses.replace(self, runs=runs, law=law)


def described(
    *,
    size: int,
    batch: int,
    epochs: float,
    sigma: float,
    sampler: str,
    replace: bool,
    rows: int = 1,
    least_epochs: float = 0.0,
    loader: str = "exact",
    counted: Sequence[Block] = (),
    **further: float,
) -> Described:
    """What bounds a training with this sampler; "unsaid" is read as Poisson sampling.

    The mechanisms say why. Where whole epochs or runs count, a part of one counts from above, and batches are N ÷
    batch, rounded to the side that the bound allows.

    Args:
        rows: k, of one person, who is protected; 1 protects an example.
        least_epochs: the shorter length, where there are two; 0 is none.
        loader: how many batches a loader has, which decides the rate of Poisson sampling; one of `LOADER`.
        counted: steps that an accountant counted, in the place of N, batch, epochs and σ.
        further: largest_batch, decay and band, where the sampler has them.
    """
    if counted:
        return _counted(counted, sampler, rows, replace=replace)
    kind, rate = KINDS.get(sampler, dpviz.SampledGaussian), batch / size
    given = {"noise_multiplier": sigma, "sample_rate": rate, "size": size, "batch": batch, **further}
    fewest, many = loader_batches(size, batch, loader if kind is dpviz.SampledGaussian else "exact")
    ends = []
    for length, most in ((epochs, True), (least_epochs or epochs, False)):
        whole = math.ceil(length) if most else math.floor(length)
        taken = whole_steps(length * (many if most else fewest))
        count = {"step": taken, "epoch": whole, "run": min(whole, 1)}[kind.step]
        given["sample_rate"] = rate if fewest == many == size / batch else 1.0 / (fewest if most else many)
        costly, cheap = _costly_and_cheap(kind, given | {"epochs": max(whole, 1)}, size / batch)
        ends.append((costly if most else cheap, count))
    (step, count), (other, fewer) = ends
    above = protecting(step, rows, replace=replace)
    below = tuple(((least_of(step, other, each, replace=replace), fewer),) for each in sorted({1, rows}))
    return Described(((above, count),), below, ((with_divergences(above), count),), _why(step, above))


def _costly_and_cheap(kind: type[Mechanism], values: Mapping[str, float], batches: float) -> list[Mechanism]:
    """The step with so many batches an epoch, rounded down and up: what shows more, and what shows less.

    More batches show less, where noise is independent; Gaussian noise says itself which.
    """
    steps = []
    for whole in (math.floor(batches), math.ceil(batches)):
        given = {**values, "batches": whole}
        steps.append(kind(**{name: given[name] for name in kind.parameters()}))
    if all(step.as_gaussian is not None for step in steps):
        steps.sort(key=lambda step: step.as_gaussian or 0.0)
    return steps


def _counted(blocks: Sequence[Block], sampler: str, rows: int, *, replace: bool) -> Described:
    """What bounds the steps of an accountant: Poisson samples, or whole passes with so many batches as 1 ÷ q."""
    passes = {"shuffled": dpviz.Shuffled, "partition": lambda sigma, _: dpviz.FixedPartition(sigma)}
    if sampler not in ("poisson", "unsaid", *passes):
        raise ValueError("Counted steps are Poisson samples, or passes over shuffled or known batches: choose these.")
    events: list[Event] = []
    for block in blocks:
        if sampler in passes:
            count, batches = (math.ceil(float(f"{x:.12g}")) for x in (block.steps * block.rate, 1.0 / block.rate))
            events.append((passes[sampler](block.sigma, batches), count))
        else:
            events.append((block.mechanism, block.steps))
    above = [(protecting(step, rows, replace=replace), count) for step, count in events]
    return Described(
        tuple(above),
        tuple(
            tuple((least_of(step, step, each, replace=replace), count) for step, count in events)
            for each in sorted({1, rows})
        ),
        tuple((with_divergences(step), count) for step, count in above),
        _why(events[0][0], above[0][0]),
    )


def with_divergences(step: Mechanism) -> Mechanism:
    """A step that shows no less and has Rényi divergences: itself, or the Gaussian above it."""
    gaussian = step.gaussian_above
    return step if step.renyi() is not None or gaussian is None else dpviz.SampledGaussian(gaussian)


def _why(step: Mechanism, above: Mechanism) -> str:
    """Why a step is bounded by the one above it."""
    sampling = "" if "**Sampling:**" in step.assumes else kinds.POISSON.partition("\n")[0] + " "
    why = re.sub(r"[ \n]+", " ", sampling + step.assumes).replace("**", "").replace(" Shuffled or", "")
    if isinstance(above, dpviz.PersonOf) and above.exact is None:
        why += (
            f" The upper end lets {above.rows} changes happen in turn (group privacy), which may be loose; the "
            "lower end is an attack's on fewer changes, or on one pair of data sets."
        )
    return why


def least_of(above: Mechanism, below: Mechanism, rows: int, *, replace: bool) -> Mechanism:
    """What such a training reaches on some data, where so many rows of a person are removed, or replaced."""
    if isinstance(above, dpviz.FixedSize) and not replace:  # others' gradients are 0
        return dpviz.SampledGaussian(above.noise_multiplier, above.batch / above.size)
    if isinstance(above, dpviz.TruncatedPoisson) and replace:
        return above.least
    return protecting(below, rows, replace=replace).least


def protecting(step: Mechanism, rows: int, *, replace: bool) -> Mechanism:
    """The step with all rows of a person removed, or replaced: what is known of it from above.

    Where rows are replaced, they are removed, and others are added in their place, unless a mechanism knows better. A
    Poisson sample that is cut to a largest batch keeps a row or the one in its place, with probability q at most.
    """
    if not replace or step.adjacency == dpviz.Adjacency.REPLACE_ONE:
        return dpviz.of_person(step, rows)
    if "sample_rate" in step.parameters():
        return dpviz.of_person(dpviz.ReplaceOneGaussian(step.noise_multiplier, step.sample_rate), rows)  # type: ignore[attr-defined]
    together = step.of_rows(rows)
    return dpviz.PersonOf(step, 2 * rows) if together is None else dpviz.PersonOf(together, 2)


def renyi_above(known: Described, delta: float) -> float:
    """The upper bound on ε by Rényi divergences."""
    if known.has_random_runs:
        return _tuned(known, known.loose, delta, RENYI_ALONE)
    return float(dpviz.accountant(Renyi.name).of_events(known.loose, delta).epsilon)


def _tuned(known: Described, events: Events, delta: float, method: Method) -> float:
    """ε of the best of a random number of runs."""
    ((mechanism, steps),) = events
    search: Search = {"runs": known.runs, "law": known.law, "method": method}
    return dpviz.tuned_epsilon(mechanism=mechanism, steps=steps, delta=delta, **search)


@remembered
def ends(known: Described, renyi: float, delta: float) -> tuple[float, float]:
    """Between which ε lies: some 10 ms, a second for random allocation, so that nothing quicker stands in for them.

    The best of several runs shows no less than one of them: a score may be the same for all. Without a run, nothing is
    shown.
    """
    if known.has_random_runs:
        some = -math.expm1(-known.runs) if known.law == "poisson" else 1.0
        one = ends(dataclasses.replace(known, runs=1, law="fixed"), renyi, min(delta / some, 1.0 - 1e-12))
        return one[0], min(renyi, _tuned(known, known.above, delta, ALL_BOUNDS))
    low = max(float(np.asarray(tight_epsilon_of_events(events, delta).lower)) for events in known.below)
    exact = all(step.as_gaussian is not None for step, _ in known.above)
    if not exact and min(renyi, max(rough_epsilon(*each, delta) for each in known.above)) > LARGEST:
        return low, renyi
    return low, min(renyi, float(np.asarray(tight_epsilon_of_events(known.above, delta).upper)))

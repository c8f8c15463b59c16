"""What was measured on one network: quick to ask for, measured beside the page, kept by value."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpviz.gradients.leakage import Attack, Comparison, compare_distances, threshold_attack
from dpviz.ui.leakage.settings import Settings, read
from dpviz.ui.leakage.subjects import Subject, subject
from dpviz.ui.state import Reader

if TYPE_CHECKING:
    from dpviz.training.leakage import Leakage

_KEPT = 64
_NICE = 10


@dataclass(frozen=True, eq=False)
class Measured:
    """Distances and losses, and what the statistics make of them."""

    sample: Leakage
    comparison: Comparison | None
    attack: Attack


@dataclass(frozen=True, eq=False)
class Found:
    """What the page shows.

    Attributes:
        settings: what was asked.
        subject: whose network it is, with its bounds.
        measured: None until it was measured.
        problem: why it can not be; empty if nothing is wrong.
        beside: pinned states that still wait for theirs.
    """

    settings: Settings
    subject: Subject
    measured: Measured | None = None
    problem: str = ""
    beside: tuple[Found, ...] = ()

    @property
    def waits(self) -> bool:
        return self.measured is None and not self.problem


_lock = threading.Lock()
_kept: OrderedDict[Hashable, Found] = OrderedDict()


def read_and_compute(get: Reader) -> Found:
    return compute(read(get))


def compute(settings: Settings) -> Found:
    """What is known at once: the bounds, and the measurement if it was made before.

    Raises:
        ValueError: for a run that is not here.
    """
    asked = Found(settings, subject(settings))
    with _lock:
        known = _kept.get(_key(asked))
        if known is None:
            return asked
        _kept.move_to_end(_key(asked))
    return _joined(asked, known)


def _key(found: Found) -> Hashable:
    return (found.subject.key, found.settings.examples, found.settings.seed)


def slow_key(found: Found) -> Hashable | None:
    """Which networks wait for their measurement, this page's and those of pinned states; None where none does."""
    return tuple(dict.fromkeys(_key(other) for other in _waiting(found))) or None


def _waiting(found: Found) -> tuple[Found, ...]:
    return ((found,) if found.waits else ()) + found.beside


def measure(found: Found) -> dict[Hashable, Found]:
    """Every network that waits, measured; each waits its turn, for there is one thread for all of them."""
    by_key = {_key(other): other for other in _waiting(found)}
    return {key: _pool.submit(_measure, other).result() for key, other in by_key.items()}


def with_measured(found: Found, measured: dict[Hashable, Found]) -> Found:
    """The same with its own measurement; pinned states find theirs among those that were kept."""
    known = measured.get(_key(found))
    joined = found if known is None else _joined(found, known)
    return replace(joined, beside=())


def _joined(asked: Found, known: Found) -> Found:
    """What is asked now, with what was measured of the same network before."""
    if known.problem:
        return replace(asked, problem=known.problem)
    return replace(asked, measured=known.measured)


def _quiet() -> None:
    """Training goes first: this thread alone steps back where the system can tell threads apart."""
    if hasattr(os, "setpriority"):
        try:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        except OSError:  # a system that knows processes only, or forbids it
            return


# One thread: PyTorch's number of threads and its generator belong to the whole process.
_pool = ThreadPoolExecutor(1, thread_name_prefix="leakage", initializer=_quiet)


def _measure(found: Found) -> Found:
    try:
        whole = replace(found, measured=_measured(found))
    except Exception as error:  # whatever a file or a data set does: the page says it and stays
        text = str(error) if isinstance(error, (ValueError, OSError)) else f"{type(error).__name__}: {error}"
        return replace(found, problem=f"Nothing could be measured: {text}")
    with _lock:
        _kept[_key(found)] = whole
        while len(_kept) > _KEPT:
            _kept.popitem(last=False)
    return whole


def _measured(found: Found) -> Measured:
    # PyTorch takes seconds to import: only those who measure wait for it.
    from dpviz.training.leakage import leakage_of_run, leakage_of_small_network

    settings, of = found.settings, found.subject
    if of.settings is not None and of.weights is not None:
        sample = leakage_of_run(dict(of.settings), weights=of.weights, examples=settings.examples, seed=settings.seed)
    else:
        sample = leakage_of_small_network(
            settings.model, training_step=settings.steps, examples=settings.examples, seed=settings.seed
        )
    comparison = None
    if min(sample.train_distances.size, sample.test_distances.size) >= 3:
        comparison = compare_distances(sample.train_distances, sample.test_distances)
    random = np.random.default_rng(settings.seed)
    return Measured(sample, comparison, threshold_attack(sample.train_losses, sample.test_losses, random=random))

"""Trainings of one process on the same data: whoever is in these data is told of by all of them, so costs add up.

What the same data are is said in `data.identity`; trainings of other processes are not known.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from dpviz.mechanisms import Event, merge_events
from dpviz.training.data.identity import DataIdentity
from dpviz.training.samplers import stored
from dpviz.training.values import OTHER_DATA, OWN_DATA, SAME_DATA, Origin


@dataclass(eq=False)
class _Spent:
    """What trainings on one data set may have cost: whole plans, for an early end may have been decided by losses."""

    data: DataIdentity
    unit: str = "example"
    trainings: int = 0
    demonstrations: int = 0
    mechanisms: tuple[Event, ...] = ()


ledger: list[_Spent] = []
_charging = threading.Lock()


def earlier(data: DataIdentity, *, disjoint: bool = False) -> tuple[Origin, ...]:
    """What trainings that began before may have spent on these data.

    Args:
        disjoint: Whether somebody says that nobody is in both, so that nothing adds up.
    """
    same = [spent for spent in list(ledger) if spent.data.overlaps(data)]
    origins = []
    for unit in dict.fromkeys(spent.unit for spent in same):
        same_unit = [spent for spent in same if spent.unit == unit]
        events = merge_events(event for spent in same_unit for event in spent.mechanisms)
        plans = tuple(tuple(stored(mechanism, count)) for mechanism, count in events)
        if trainings := sum(spent.trainings for spent in same_unit):
            name, run = _counted(trainings, "training"), OTHER_DATA if disjoint else SAME_DATA
            origins.append(Origin(run=run, name=name, data=OWN_DATA, mechanisms=plans, unit=unit))
    if (demonstrations := sum(spent.demonstrations for spent in same)) and not disjoint:
        name = _counted(demonstrations, "demonstration")
        origins.append(Origin(run=SAME_DATA, name=name, data=OWN_DATA, replayable=True, unit=same[0].unit))
    return tuple(origins)


def charge(
    data: DataIdentity, plan: tuple[Event, ...], *, unit: str, replayable: bool = False, disjoint: bool = False
) -> tuple[Origin, ...]:
    """Notes that a training with this plan begins, `replayable` for a demonstration; `earlier` as it was before."""
    with _charging:
        before = earlier(data, disjoint=disjoint)
        spent = next((spent for spent in ledger if spent.data.same(data) and spent.unit == unit), None)
        if spent is None:
            ledger.append(spent := _Spent(data, unit))
        if replayable:
            spent.demonstrations += 1
        else:
            spent.trainings += 1
            spent.mechanisms = merge_events((*spent.mechanisms, *plan))
    return before


def charge_again(data: DataIdentity, events: tuple[Event, ...], *, unit: str) -> None:
    """Adds what a training that began spends beyond its plan, on steps that it takes again."""
    with _charging:
        spent = next(spent for spent in ledger if spent.data.same(data) and spent.unit == unit)
        spent.mechanisms = merge_events((*spent.mechanisms, *events))


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'} before it"

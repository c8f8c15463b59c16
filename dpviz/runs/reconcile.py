"""The true state of runs that a program of its own computes: found by whoever looks, and corrected in the store."""

import time

from dpviz.runs.processes import is_alive
from dpviz.runs.store.records import ACTIVE
from dpviz.runs.store.store import Store

# A program on another machine is alive while its heartbeat is younger than this, in seconds.
HEARTBEAT_LASTS = 30.0

PROGRAM_ENDED = "the program that ran it has ended"


def reconcile(store: Store) -> list[str]:
    """Give up active runs whose program has ended; their ids.

    Runs of workers are not among them: the cluster knows of those. Costs one query where no program is active.
    """
    active = [record for record in store.runs(states=ACTIVE) if record.owner]
    if not active:
        return []
    alive = {}
    for owner in store.owners():
        lives = is_alive(owner.process)
        alive[owner.id] = lives if lives is not None else time.time() - owner.heartbeat < HEARTBEAT_LASTS
    ended = [record.id for record in active if not alive.get(record.owner, False)]
    return [run for run in ended if store.change_state(run, "lost", PROGRAM_ENDED, only=ACTIVE)]

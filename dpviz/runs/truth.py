"""The true state of runs whose engine or host is gone: whoever looks finds out, and the store is put right."""

from __future__ import annotations

import time

from dpviz.runs.processes import is_alive
from dpviz.runs.records import ACTIVE, OPEN
from dpviz.runs.store import Store

# An engine on another machine is alive while its heartbeat is younger than this, in seconds.
HEARTBEAT_LASTS = 30.0


def settle(store: Store) -> list[str]:
    """Mark open runs lost whose engine or host process has ended; their ids. Costs one query where nothing is open."""
    open_runs = store.runs(states=OPEN)
    if not open_runs:
        return []
    alive = {}
    for owner in store.owners():
        lives = is_alive(owner.process)
        alive[owner.id] = lives if lives is not None else time.time() - owner.heartbeat < HEARTBEAT_LASTS
    lost = []
    for record in open_runs:
        reason = ""
        if not alive.get(record.owner, False):
            reason = "the app that ran it has ended" if record.active else "the app that queued it has ended"
        elif record.active and (host := store.host_of(record.id)) is not None and is_alive(host) is False:
            reason = "the process that hosts the workers has ended"
        only = ACTIVE if record.active else ("queued",)
        if reason and store.change_state(record.id, "lost", reason, only=only):
            lost.append(record.id)
    return lost

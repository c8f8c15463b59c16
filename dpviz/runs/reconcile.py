"""The true state of runs whose engine or host is gone: whoever looks finds out, and the store is put right."""

import time

from dpviz.runs.processes import is_alive
from dpviz.runs.store.records import ACTIVE, RunRecord
from dpviz.runs.store.store import Store

# An engine on another machine is alive while its heartbeat is younger than this, in seconds.
HEARTBEAT_LASTS = 30.0

# Seconds between the loss of a killed process's connections and its end, on a busy machine.
ENDING_TAKES = 1.0


HOST_DIED = "the process that hosts the workers has ended"
GONE = "its workers have gone, and the run with them"


def why_gone(store: Store, run: str) -> str:
    """Why a run whose connection broke has nobody to compute it.

    A dying process loses its connections first: the host is looked at until it has had the time to end.
    """
    host = store.host_of(run)
    until = time.monotonic() + ENDING_TAKES
    while host is not None and (alive := is_alive(host)) is not None:
        if not alive:
            return HOST_DIED
        if time.monotonic() > until:
            break
        time.sleep(0.05)
    return GONE


def give_up(store: Store, run: str, reason: str) -> bool:
    """A run whose process is gone: lost, or queued again if it had not begun. Whether it was still active."""
    return store.release(run) or store.change_state(run, "lost", reason, only=ACTIVE)


def _alive(store: Store) -> dict[str, bool]:
    """Whether each engine that the store knows still runs."""
    alive = {}
    for owner in store.owners():
        lives = is_alive(owner.process)
        alive[owner.id] = lives if lives is not None else time.time() - owner.heartbeat < HEARTBEAT_LASTS
    return alive


def reconcile(store: Store) -> list[str]:
    """Give up active runs whose engine or host process has ended; their ids. Queued runs wait on, whoever died.

    Costs one query where nothing is active.
    """
    active = store.runs(states=ACTIVE)
    alive = _alive(store) if active else {}
    given_up = []
    for record in active:
        reason = ""
        if not alive.get(record.owner, False):
            reason = "the app that ran it has ended"
        elif (host := store.host_of(record.id)) is not None and is_alive(host) is False:
            reason = HOST_DIED
        if reason and give_up(store, record.id, reason):
            given_up.append(record.id)
    return given_up


def orphans(store: Store) -> list[RunRecord]:
    """Queued runs whose engine has ended, oldest first."""
    queued = store.runs(states=("queued",))
    alive = _alive(store) if queued else {}
    return [record for record in reversed(queued) if not alive.get(record.owner, False)]


def adopt(store: Store, owner: str) -> list[str]:
    """Take over the queued runs of engines that have ended; their ids. Of two that try, one gets each."""
    return [record.id for record in orphans(store) if store.adopt(record.id, record.owner, owner)]

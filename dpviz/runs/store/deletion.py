"""Deleted runs are kept for a while, so that deleting can be undone, and then freed with their weights."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dpviz.runs.store.interface import Store

# Seconds that a deleted run can be brought back: a week.
KEPT = 7 * 24 * 3600.0


def free_deleted(store: Store, weights: Callable[[str], Path]) -> list[str]:
    """Remove for good what was deleted more than `KEPT` seconds ago, weights first; the ids."""
    freed = []
    for record in store.runs(deleted=True):
        if record.deleted is not None and time.time() - record.deleted > KEPT:
            with suppress(OSError):
                weights(record.id).unlink(missing_ok=True)
            with suppress(KeyError, ValueError):  # brought back, or freed, by another app meanwhile
                store.purge(record.id)
                freed.append(record.id)
    return freed

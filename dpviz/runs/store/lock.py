"""A lock between processes, which the system releases when the process that holds it dies."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from dpviz.runs.store.folders import private_file

PATIENCE = 120.0  # seconds that another process is waited for


@contextmanager
def alone(lock: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Only one thread of one process at a time is inside for the same lock file.

    Raises:
        sqlite3.OperationalError: if another one is inside for longer than `patience` seconds.
        OSError: if the file cannot be made.
    """
    private_file(lock)
    with closing(sqlite3.connect(lock, timeout=patience, isolation_level=None)) as held:
        held.execute("BEGIN EXCLUSIVE")
        yield

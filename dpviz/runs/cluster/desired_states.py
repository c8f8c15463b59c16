"""What users want of runs under way, and which charge of theirs is recorded, passed on to their workers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dpviz.runs.store.records import RunRecord
from dpviz.runs.work import variable_name


class DesiredStates:
    """A Dask variable for each run, which its worker asks a few times a second.

    Attributes:
        held: Runs that pause until the store can be written, whatever is desired.
    """

    def __init__(self) -> None:
        self.held: set[str] = set()
        self._sent: dict[str, tuple[str, int]] = {}
        self._recorded: dict[str, str] = {}

    def changed(self, record: RunRecord) -> bool:
        """Whether something else is wanted than was passed on."""
        return self._sent.get(record.id) != (record.desired, record.granted)

    def tell(self, client: Any, record: RunRecord) -> None:
        """Its worker hears of it the next time it asks."""
        self._set(client, record.id, record.desired, record.granted)

    def passed_on(self, record: RunRecord) -> None:
        self._sent[record.id] = (record.desired, record.granted)

    def hold(self, client: Any, runs: Iterable[str]) -> None:
        """Let them pause, so that no more is done than can be recorded."""
        for run in set(runs) - self.held:
            desired, granted = self._sent[run]
            self._set(client, run, "pause" if desired == "go" else desired, granted)
            self.held.add(run)

    def release(self, client: Any, runs: Iterable[str]) -> None:
        """Those that were held go on as their users want."""
        for run in self.held & set(runs):
            self._set(client, run, *self._sent[run])
        self.held.clear()

    def stop(self, client: Any, runs: Iterable[str]) -> None:
        """The app ends: all are to stop."""
        for run in runs:
            self._sent[run] = ("stop", 0)
            self._set(client, run, *self._sent[run])

    def recorded(self, client: Any, run: str, charge: str) -> None:
        """The store has this charge: its worker may release what that covers."""
        self._recorded[run] = charge
        desired, granted = self._sent[run]
        self._set(client, run, "pause" if run in self.held and desired == "go" else desired, granted)

    def _set(self, client: Any, run: str, desired: str, granted: int) -> None:
        _variable(client, run).set([desired, granted, self._recorded.get(run, "")])

    def forget(self, run: str) -> None:
        """It has ended."""
        self._sent.pop(run, None)
        self._recorded.pop(run, None)

    @staticmethod
    def take_back(client: Any, run: str) -> None:
        """It asks no more."""
        _variable(client, run).delete()

    def clear(self) -> None:
        """Their cluster has gone."""
        for of_runs in (self.held, self._sent, self._recorded):
            of_runs.clear()


def _variable(client: Any, run: str) -> Any:
    from distributed import Variable

    make: Any = Variable
    return make(variable_name(run), client=client)

"""What another attempt of a run finds when it begins: the checkpoint that was kept, and what earlier ones were charged.

The task itself has to know what was charged, for its readings and its budget begin with it. The app that sends the run
on knows of the attempts before; of those that Dask began since, the files of events lie on the disk of their workers,
until the run is over. Where one is not here, is damaged, or may still be written, its whole plan counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from dpviz.runs.claims import charged_from
from dpviz.runs.store.digest import Digest
from dpviz.runs.store.events import event
from dpviz.runs.waiting import Place, excerpt, keep
from dpviz.training.attempts import Charged, Checkpoints


class Attempt(NamedTuple):
    """One attempt of a run, in its worker.

    Attributes:
        run: Its id.
        place: Where events wait on this machine.
        earlier: Executions that had begun before this one since the run was sent.
        before: What attempts before these were charged, as `Charged.to_json`; None where there was none.
        why_not: Why nobody wants this attempt any more; "" as long as somebody does.
    """

    run: str
    place: Place
    earlier: Sequence[str]
    before: Mapping[str, Any] | None
    why_not: Callable[[], str]

    @property
    def charged(self) -> Charged | None:
        """What all attempts before this one were charged; None for the first."""
        if not self.earlier and self.before is None:
            return None
        every = Charged() if self.before is None else Charged.from_json(self.before)
        for execution in self.earlier:
            parts = excerpt(self.place, self.run, execution)
            if parts is None:
                every = every.then(Charged(unread=1))
            else:
                begin, rest = (Digest.of(event(row, 0) for row in rows) for rows in parts)
                every = every.then(charged_from(begin, rest))
        return every

    def checkpoints(self) -> Checkpoints:
        """For the training loop; an attempt that nobody wants leaves none to the one that took its place."""
        path, charged = self.place.checkpoint(self.run), self.charged
        latest = path.read_bytes() if charged is not None and path.is_file() else None

        def keep_wanted(saved: bytes) -> None:
            if not self.why_not():
                keep(path, saved)

        return Checkpoints(keep_wanted, run=self.run, latest=latest, charged=charged)

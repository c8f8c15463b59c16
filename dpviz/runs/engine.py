"""The engine of runs, the one object that pages talk to: submits, holds and watches runs, and measures.

All of it can be called from any thread, a Streamlit script's too: calls read and write the store, and a thread of the
engine's own (`dispatch`) does the rest. Runs do not belong to it: they go on on their cluster when it ends.
"""

import atexit
import threading
import time
from collections.abc import Hashable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpviz._public import NO_TRAINING, is_public
from dpviz.runs.cluster import local
from dpviz.runs.cluster.connection import lacking
from dpviz.runs.cluster.launch import default_workers
from dpviz.runs.dispatch import Dispatcher, of_workers, unread, worker_of
from dpviz.runs.measuring.measurement import Measurement, Request
from dpviz.runs.reconcile import reconcile
from dpviz.runs.store.folders import home, private_folder
from dpviz.runs.store.records import ACTIVE, ENDED, OPEN, TRAINING, Chosen, RunRecord, State, StoreError
from dpviz.runs.store.store import Store, open_store
from dpviz.runs.views import Live, RunView
from dpviz.runs.waiting import FOLDER as WAITING
from dpviz.runs.waiting import Place, remove_checkpoint
from dpviz.training.accounts.claims import LOSSES_DECIDED
from dpviz.training.covered import NOT_COVERED
from dpviz.training.settings import RunSettings

# Seconds between two checks, by whoever looks, that somebody computes what is said to run.
RECONCILE = 0.5

ENDED_BY_HAND = "the workers were ended, and the run with them"


class Engine:
    """Runs of one store, computed by one local cluster or the one at DASK_SCHEDULER_ADDRESS.

    Args:
        folder: Where runs, weights and logs lie; `store.folders.home()` if None.
        workers: How many runs at once, where this engine starts the local cluster; `default_workers()` if None.
        preload: Whether its workers load PyTorch before the first run comes.

    Attributes:
        store: The runs; for looking, naming, deleting.
        live: Shared readers of running runs.

    Raises:
        StoreError: if the folder cannot be written.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        workers: int | None = None,
        preload: bool = True,
    ) -> None:
        self.folder = folder or home()
        self.store: Store = open_store(self.folder)
        with suppress(OSError, StoreError):  # a full or read-only disk can still be looked at
            private_folder(self.folder / "weights")
            self.store.purge_old(self._remove_files)
        self.live = Live(self.store)
        self.workers = default_workers() if workers is None else workers
        self._preload = preload
        self._dispatcher: Dispatcher | None = None
        self._lock = threading.Lock()
        self._reconciled = 0.0
        self._closed = False
        atexit.register(self.shutdown)

    # Launching

    def submit(
        self,
        settings: RunSettings | Mapping[str, Any],
        *,
        target: str = TRAINING,
        name: str = "",
        options: Mapping[str, Any] | None = None,
        run: str = "",
    ) -> str:
        """Queue a run; it starts as soon as a worker is free, also when this program has ended by then.

        Args:
            settings: What `target` is called with: a mapping of JSON values, or `RunSettings`, which are checked here.
            target: "module:function", called as function(settings, emit, control, **options) in a worker.
            name: For people; "Run 7" and the like if empty.
            options: Further keyword arguments; "{run}" in a text stands for the run's id.
            run: The id it is to have, from `dpviz.runs.store.records.new_id`: asked twice for the same, it runs once.

        Returns:
            The run's id.

        Raises:
            ValueError: for settings that cannot work.
            StoreError: if the store cannot be written.
        """
        if ":" not in target:
            raise ValueError(f"Expected target={target!r} as 'module:function'.")
        if isinstance(settings, RunSettings):
            settings.check()
            settings = settings.to_json()
        chosen = dict(options or {})
        if target == TRAINING:
            chosen.setdefault("weights_to", str(self.folder / "weights" / "{run}.pt"))
        dispatcher = self._awake()
        record = self.store.create(target=target, settings=dict(settings), options=chosen, name=name, run=run)
        dispatcher.wake()
        return record.id

    def measure(self, asked: Request) -> Measurement:
        """The measurement, begun unless it is there; to be looked at again soon, or it is given up.

        Raises:
            RuntimeError: if this engine was shut down.
        """
        measurement = self._awake().measurements.ask(asked)
        if not measurement.over and (absent := lacking()):
            measurement.problem = absent
        return measurement

    def measured(self, key: Hashable) -> Measurement | None:
        """The measurement of this key if it was asked for, under way or over."""
        return None if self._dispatcher is None else self._dispatcher.measurements.find(key)

    def measure_again(self, key: Hashable) -> None:
        """Let a measurement that failed be asked for anew."""
        if self._dispatcher is not None:
            self._dispatcher.measurements.forget(key)

    def warm(self) -> None:
        """Start the workers in the background, so that the first run starts at once."""
        self._awake().warm()

    @property
    def ready(self) -> bool:
        """Whether the workers are up."""
        return self._dispatcher is not None and self._dispatcher.connection.ready

    @property
    def starting(self) -> str:
        """What the first run waits for while the workers start, with the seconds so far; "" if it need not wait."""
        return self._dispatcher.connection.starting if self._dispatcher is not None else ""

    @property
    def problem(self) -> str:
        """What is wrong with the cluster or the store now, in words for the page; "" if nothing is."""
        return self._dispatcher.problem if self._dispatcher is not None else ""

    def waits(self, record: RunRecord) -> str:
        """What a run that is not over waits for, in words; "" if it waits for nothing, or is only about to begin."""
        return self.problem or (self._dispatcher.waits(record) if self._dispatcher is not None else "")

    def waits_to_measure(self, measurement: Measurement) -> str:
        """What a measurement waits for, in words; "" if it waits for nothing, or is only about to begin."""
        return "" if self._dispatcher is None else self._dispatcher.waits_to_measure(measurement)

    @property
    def notice(self) -> str:
        """What people should know of the store, though it works: a damaged one was set aside; "" if nothing."""
        return self.store.notice

    def weights(self, run: str) -> Path:
        """Where a run's weights lie once it has ended."""
        return self.folder / "weights" / f"{run}.pt"

    def checkpoint(self, run: str) -> Path:
        """Where the checkpoint of a run lies that may go on."""
        return Place.of(self.folder).checkpoint(run)

    def _remove_files(self, run: str) -> None:
        self.weights(run).unlink(missing_ok=True)
        remove_checkpoint(self.checkpoint(run))

    def _awake(self) -> Dispatcher:
        with self._lock:
            if self._closed:
                raise RuntimeError("This engine was shut down: make a new one.")
            if self._dispatcher is None:
                self._dispatcher = Dispatcher(self.store, self.folder, workers=self.workers, preload=self._preload)
            return self._dispatcher

    def may_go_on(self, record: RunRecord) -> bool:
        """Whether a run is one of workers that ended before it was done."""
        unfinished = record.over and record.state != "done" and record.attempt > 0
        return unfinished and not record.imported and not record.owner and record.deleted is None

    def why_not_go_on(self, record: RunRecord) -> str:
        """Why a run that may go on cannot, as a sentence; "" where it can.

        Not after losses that were not released decided its end: going on would depend on them too.
        """
        if record.summary.get("reason") == LOSSES_DECIDED:
            return f"Its losses, which are {NOT_COVERED}, ended it, and would decide that it goes on."
        checkpoint = self.checkpoint(record.id)
        if checkpoint.is_file():
            return ""
        lacks = f"No checkpoint of it is in {checkpoint.parent}. It ended before its first one"
        if cluster := worker_of(self.store, record.id)["cluster"]:
            return (
                f"{lacks}, or its worker, on the cluster at {cluster}, does not see that folder: what it kept on its "
                "own machine went when the run was over. Runs can go on where workers have that folder under the same "
                "path."
            )
        return f"{lacks}, which a run keeps after ten seconds, or that folder was left behind when the store was moved."

    def can_go_on(self, record: RunRecord) -> bool:
        """Whether a run that ended can go on from a checkpoint."""
        return self.may_go_on(record) and not self.why_not_go_on(record)

    def go_on(self, run: str) -> RunRecord:
        """Let a run that ended go on from its checkpoint, as another attempt of it: same settings, plan and budget."""
        if self.can_go_on(self.run(run)):
            dispatcher = self._awake()
            dispatcher.forget(run)
            self.store.begin_again(run)
            dispatcher.wake()
        return self.run(run)

    # Holding: a desired state in the store, so that it works from every session and every app that sees the store

    def stop(self, run: str) -> RunRecord:
        """Let it end after the step it is at; it still writes its last numbers."""
        return self._set_desired(run, "stop")

    def pause(self, run: str) -> RunRecord:
        return self._set_desired(run, "pause")

    def resume(self, run: str) -> RunRecord:
        return self._set_desired(run, "go")

    def step(self, run: str, count: int = 1, *, granted: int | None = None) -> RunRecord:
        """Let a run take `count` steps and pause; with `granted`, only if so many were granted it before."""
        if count < 1:
            raise ValueError(f"Expected count={count} >= 1.")
        return self._set_desired(run, "pause", count, granted)

    def hard_stop(self, run: str) -> RunRecord:
        """End its worker without waiting; what was recorded is kept."""
        return self._set_desired(run, "kill")

    def _set_desired(self, run: str, desired: Any, single_steps: int = 0, granted: int | None = None) -> RunRecord:
        record = self.run(run)
        if record.over or (record.desired in ("stop", "kill") and desired in ("go", "pause")):
            return record  # what has ended, or is about to, does not start again
        record = self.store.set_desired(run, desired, single_steps=single_steps, granted=granted)
        if self._dispatcher is not None:
            self._dispatcher.wake()
        return record

    # Looking

    def _reconcile(self) -> None:
        if time.monotonic() - self._reconciled > RECONCILE:
            self._reconciled = time.monotonic()
            with suppress(StoreError, OSError):  # what cannot be found out or written now is corrected later
                reconcile(self.store)
            if self._dispatcher is None and not self._closed and self._has_work():
                self._awake()

    def _has_work(self) -> bool:
        """Whether runs of workers are open, or events of theirs wait, here or on the user's own cluster."""
        if any((self.folder / WAITING).glob("*.jsonl")) or unread(self.store, self.folder):
            return True
        return any(map(of_workers, self.store.runs(states=OPEN)))

    def run(self, run: str) -> RunRecord:
        """The run as it truly is now."""
        self._reconcile()
        return self.store.run(run)

    def knows(self, run: str) -> bool:
        """Whether there is a run of this id."""
        try:
            self.store.run(run)
        except KeyError:
            return False
        return True

    def runs(self, *, deleted: bool = False, states: tuple[State, ...] = (), most: int = -1) -> list[RunRecord]:
        """Runs as they truly are now, the newest first, at most `most` (−1: all)."""
        self._reconcile()
        return self.store.runs(deleted=deleted, states=states, most=most)

    def each(self, chosen: Chosen) -> Iterator[RunRecord]:
        """These runs as they truly are now, the newest first, read some at a time."""
        self._reconcile()
        return self.store.each(chosen)

    def states(self, states: tuple[State, ...]) -> dict[str, State]:
        """The true state of each run that is in one of these, by id, oldest first."""
        self._reconcile()
        return self.store.states(states)

    def look(self, run: str) -> RunView:
        """Record, arrays and texts of a run at most 0.2 s old; shared by all who look."""
        self._reconcile()
        return self.live.look(run)

    def wait(self, run: str, limit: float, states: tuple[State, ...] = ENDED) -> RunRecord:
        """The run once it is in one of `states`, or as it is after `limit` seconds."""
        end = time.monotonic() + limit
        while (record := self.run(run)).state not in states and time.monotonic() < end:
            time.sleep(0.02)
        return record

    def end_workers(self) -> bool:
        """End the local cluster at once, and with it what runs there; what waits, waits on. Whether there was one."""
        if local.find(self.folder) is None:
            return False
        for record in self.store.runs(states=ACTIVE):
            if not record.owner and record.attempt and not worker_of(self.store, record.id)["cluster"]:
                self.store.change_state(record.id, "stopped", ENDED_BY_HAND, only=ACTIVE)
        return local.stop(self.folder)

    def shutdown(self) -> None:
        """Let go of all; runs go on, and those that wait go on waiting."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        atexit.unregister(self.shutdown)
        if self._dispatcher is not None:
            self._dispatcher.close()
        self.store.close()


_shared: dict[Path, Engine] = {}
_shared_lock = threading.Lock()


def engine() -> Engine:
    """The engine of this process for `home()`, made at the first call.

    Raises:
        StoreError: on a public server, which has none, whoever asks; or if DPVIZ_HOME cannot name a folder.
    """
    if is_public():
        raise StoreError(NO_TRAINING)
    folder = home()
    with _shared_lock:
        if folder not in _shared:
            _shared[folder] = Engine(folder)
        return _shared[folder]


def shutdown_shared() -> None:
    """End the engines that `engine` made in this process, in order."""
    with _shared_lock:
        made = list(_shared.values())
        _shared.clear()
    for one in made:
        one.shutdown()

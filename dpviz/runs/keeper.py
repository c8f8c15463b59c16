"""The thread of an engine that starts the cluster, sends queued runs to it and passes wishes on."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

from dpviz.runs.cluster import ADDRESS_VARIABLE, Cluster, ClusterError, Host, connect
from dpviz.runs.collector import Collector, Ended
from dpviz.runs.memory import resident
from dpviz.runs.processes import Process, is_alive, this_machine, this_process
from dpviz.runs.records import ACTIVE, OPEN, RESTARTED, Batch, RunRecord, State
from dpviz.runs.store import Store, StoreError
from dpviz.runs.truth import HOST_DIED, adopt, give_up, settle
from dpviz.runs.work import variable_name, work

# Seconds between two looks while runs are open, and while none is; between two heartbeats.
TICK = 0.2
IDLE_TICK = 1.0
BEAT = 1.0

# Longest pause in seconds between two tries to start or find the cluster; the first is one tick, each next twice that.
LONGEST_PAUSE = 30.0

# Bytes that a worker may hold between two runs: with PyTorch loaded a fresh one holds 350 MB. Beyond it is replaced.
MOST_MEMORY = 700_000_000

SCHEDULER_WENT = "the Dask scheduler has gone, and the run with it"


class Keeper:
    """Owns the host, the Dask client and the futures; only its own thread touches them.

    Args:
        store: The runs.
        owner: The engine's id.
        workers: How many runs at once.
        preload: Modules that workers load ahead.
        log: File for messages of the workers.

    Attributes:
        problem: What keeps runs from being started; "" if nothing does.
    """

    def __init__(self, store: Store, *, owner: str, workers: int, preload: tuple[str, ...], log: Path) -> None:
        self.problem = ""
        self.owner = owner
        self._store, self._workers, self._preload, self._log = store, workers, preload, log
        self._host: Host | None = None
        self._cluster: Cluster | None = None
        self._client: Any = None
        self._futures: dict[str, Any] = {}
        self._sent: dict[str, tuple[str, int]] = {}
        self._at: dict[str, tuple[Process, str]] = {}
        self._over: set[str] = set()
        self._used: dict[str, Process] = {}  # local workers that have run something, by address
        self._warm = False
        self._beaten = 0.0
        self._closing = threading.Event()
        self._wake = threading.Event()
        self._stuck = False  # whether the store cannot be written, for so long that runs are held
        self._held: set[str] = set()
        self.collector = Collector(store, on_batch=self._began, on_end=self._ended, on_trouble=self._written)
        self._no_cluster = ""  # why the last try to start or find a cluster failed
        self._tries = 0  # failed ones since the last that went well
        self._next_try = 0.0
        self._thread = threading.Thread(target=self._run, name="dpviz-keeper", daemon=True)
        self._thread.start()

    # Called from any thread

    def wake(self) -> None:
        """Something changed: look at once."""
        self._wake.set()

    def warm(self) -> None:
        """Start the cluster now, ahead of the first run."""
        self._warm = True
        self.wake()

    @property
    def ready(self) -> bool:
        """Whether a run that is sent now starts at once."""
        return self._client is not None and not self.starting

    @property
    def starting(self) -> str:
        """What the first run waits for, in words; "" if it need not wait, or if nothing is starting."""
        host = self._host
        return host.starting if host is not None else ""

    @property
    def host(self) -> Process | None:
        return self._cluster.host if self._cluster else None

    def close(self, grace: float) -> None:
        """Stop what runs, wait up to `grace` seconds for its last events, and end the cluster."""
        self._closing.set()
        self.wake()
        self._thread.join(START_PATIENCE)
        self._let_end(grace)
        self.collector.close()
        self._leave()

    # The collector's thread

    def _began(self, batch: Batch) -> None:
        self._at[batch.run] = (Process.from_json(batch.worker), str(batch.worker.get("address", "")))

    def _ended(self, run: str) -> None:
        self._over.add(run)
        self.wake()

    def _written(self, trouble: str) -> None:
        self._stuck = bool(trouble)
        self.wake()

    # The keeper's thread

    def _run(self) -> None:
        pause = TICK
        while not self._closing.is_set():
            try:
                pause = self._tick()
                self.problem = self._no_cluster
            except ClusterError as error:
                self.problem = self._no_cluster = str(error)
                pause = TICK
            except StoreError as error:
                self.problem, pause = str(error), IDLE_TICK
            except Exception as error:  # whatever Dask raises when a connection goes: look again
                self.problem, pause = f"{type(error).__name__}: {error}", IDLE_TICK
            self._wake.wait(pause)
            self._wake.clear()

    def _tick(self) -> float:
        """One look at everything; returns the seconds until the next."""
        if self._client is not None and not self._connected():
            self._lose()
        self._hold_or_release()
        mine = [record for record in self._store.runs(states=OPEN) if record.owner == self.owner]
        under_way = [record for record in mine if record.active and record.id in self._futures]
        for record in under_way:  # first of all: somebody waits for it
            self._pass_on(record)
        if time.monotonic() - self._beaten > BEAT:
            self._store.beat(self.owner, this_process())
            settle(self._store)
            adopt(self._store, self.owner)
            self._beaten = time.monotonic()
        self._forget()
        for record in under_way:
            self._check_worker(record)
        self._replace_grown()
        if self._warm or any(record.state == "queued" for record in mine):
            self._open()
            if self._client is not None:
                self._warm = False
                self._dispatch()
        return TICK if mine or self._warm else IDLE_TICK

    def _connected(self) -> bool:
        if self._host is not None:
            return self._host.alive
        return bool(self._client.status in ("running", "connecting"))

    def _open(self) -> None:
        """Start or find the cluster, without waiting for one that is coming up.

        Raises:
            ClusterError: if there is none to be had now. Runs stay queued, and it is tried again, ever more rarely.
        """
        if self._client is not None or time.monotonic() < self._next_try:
            return
        try:
            address = os.environ.get(ADDRESS_VARIABLE, "")
            if address:
                self._cluster = Cluster(address, None)
            else:
                self._host = self._host or Host(self._workers, self._log, self._preload)
                self._cluster = self._host.cluster
            if self._cluster is None:
                return
            self._client = connect(self._cluster)
            self._no_cluster, self._tries = "", 0
        except (ClusterError, OSError) as error:
            self._leave()
            self._next_try = time.monotonic() + min(LONGEST_PAUSE, TICK * 2**self._tries)
            self._tries = min(self._tries + 1, 10)
            raise ClusterError(f"{error} Runs that wait stay queued, and it is tried again.") from error

    def _limit(self) -> int:
        """How many runs may be active: those that a worker is there for."""
        there = len(self._client.scheduler_info(n_workers=-1)["workers"])
        return min(self._workers, there) if self._host is not None else there

    def _dispatch(self) -> None:
        limit = self._limit()
        while not self._closing.is_set() and (record := self._store.claim(self.owner, self.host, limit)) is not None:
            try:
                self._send(record)
            except Exception as error:
                if not self._answers():  # not the run's fault: it waits for the next cluster
                    self._store.release(record.id)
                    raise
                reason = f"it could not be sent to the workers ({type(error).__name__}: {error})"
                self._store.change_state(record.id, "failed", reason, only=ACTIVE)
                raise

    def _answers(self) -> bool:
        """Whether the scheduler is there and listens."""
        try:
            self._client.sync(self._client.scheduler.identity, n_workers=0, callback_timeout=ANSWER_LIMIT)
        except Exception:  # whatever Dask raises of a connection that is gone
            return False
        return self._connected()

    def _send(self, record: RunRecord) -> None:
        topic = f"dpviz-{record.id}"
        options = {
            key: value.replace("{run}", record.id) if isinstance(value, str) else value
            for key, value in record.options.items()
        }
        self._pass_on(record)
        self._client.subscribe_topic(topic, lambda event: self.collector.put(event[1]))
        future = self._client.submit(
            work, record.id, topic, record.target, record.settings, options, key=topic, pure=False
        )
        self._futures[record.id] = future
        future.add_done_callback(lambda done: self.collector.put(Ended(record.id, done)))

    def _variable(self, run: str) -> Any:
        from distributed import Variable

        make: Any = Variable
        return make(variable_name(run), client=self._client)

    def _pass_on(self, record: RunRecord) -> None:
        """Tell the worker what the user wants, if that has changed."""
        wanted = (record.wish, record.granted)
        if self._sent.get(record.id) == wanted:
            return
        if record.wish == "kill":
            self._kill(record)
        else:
            self._variable(record.id).set(list(wanted))
        self._sent[record.id] = wanted

    def _kill(self, record: RunRecord) -> None:
        """End a run without waiting for it: the state first, so that what Dask does next cannot change it."""
        self._store.change_state(record.id, "stopped", "hard stop: its worker was ended", only=ACTIVE)
        future = self._futures.get(record.id)
        if future is None:  # on its way to being sent: it will find that its run has ended
            return
        future.cancel(force=True)
        worker, address = self._at.get(record.id, (None, ""))
        if worker is not None and worker.machine == this_machine():
            if is_alive(worker):
                os.kill(worker.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        elif address:
            self._client.restart_workers([address], raise_for_error=False)
        self._over.add(record.id)

    def _check_worker(self, record: RunRecord) -> None:
        """A worker that died leaves a run that Dask will start again: say so before it does."""
        known = self._at.get(record.id)
        if known is None or record.state == "restarted":
            return
        worker, address = known
        lives = is_alive(worker)
        if lives is None:
            lives = address in self._client.scheduler_info()["workers"]
        if not lives:
            self._at.pop(record.id)
            only: tuple[State, ...] = ("running", "paused")
            self._store.change_state(record.id, "restarted", RESTARTED, only=only)

    def _forget(self) -> None:
        """Let go of what belonged to runs that have ended."""
        while self._over:
            run = self._over.pop()
            if self._futures.pop(run, None) is not None and self._client is not None:
                self._client.unsubscribe_topic(f"dpviz-{run}")
                self._variable(run).delete()
            self._sent.pop(run, None)
            worker, address = self._at.pop(run, (None, ""))
            if worker is not None and worker.machine == this_machine():
                self._used[address] = worker

    def _replace_grown(self) -> None:
        """Let local workers go that run nothing and hold much memory; the host starts others in their place.

        Dask lets go only of a worker whose results are elsewhere or released: if this one's are not yet, the next look
        tries again.
        """
        if self._host is None or self._client is None:
            return
        busy = {address for _, address in self._at.values()}
        unknown = self._futures.keys() - self._at.keys()  # sent, and not heard of: it may be anywhere
        if unknown:
            return
        for address, worker in list(self._used.items()):
            if address in busy:
                continue
            if not is_alive(worker) or resident(worker.pid) <= MOST_MEMORY:
                del self._used[address]
            else:
                self._client.retire_workers([address], close_workers=True)

    def _hold_or_release(self) -> None:
        """While the store cannot be written runs pause, so that no more is done than can be recorded."""
        if self._stuck:
            for run in self._futures.keys() - self._held:
                wish, granted = self._sent[run]
                if wish == "go":
                    self._variable(run).set(["pause", granted])
                self._held.add(run)
        elif self._held:
            for run in self._held & self._futures.keys():
                self._variable(run).set(list(self._sent[run]))
            self._held.clear()

    def _stop_all(self) -> None:
        for run in list(self._futures):
            self._variable(run).set(["stop", 0])

    def _lose(self) -> None:
        """The cluster died: what ran on it is lost; what had not begun, or waits, will get a new one."""
        # What came before it died may still be on its way to the store.
        time.sleep(0.2)
        reason = HOST_DIED if self._host is not None else SCHEDULER_WENT
        for run in self._futures:
            give_up(self._store, run, reason)
        self._leave()

    def _leave(self) -> None:
        client, host = self._client, self._host
        self._client = self._host = self._cluster = None
        for known in (self._futures, self._sent, self._at, self._held, self._used):
            known.clear()
        if client is not None:
            with contextlib.suppress(Exception):
                client.close(timeout=2)
        if host is not None:
            host.close()

    def _let_end(self, grace: float) -> None:
        """Ask all that runs to stop and wait for it; what has not stopped by then is lost. What waits goes on waiting,
        for the next app that opens the store."""
        with contextlib.suppress(Exception):
            self._stop_all()
        end = time.monotonic() + grace
        with contextlib.suppress(StoreError):
            while self._mine() and time.monotonic() < end and self._client is not None and self._connected():
                time.sleep(0.05)
            for record in self._mine():
                give_up(self._store, record.id, "the app was closed")

    def _mine(self) -> list[RunRecord]:
        return [record for record in self._store.runs(states=ACTIVE) if record.owner == self.owner]


# Seconds that closing waits for the thread, and that a scheduler may take to answer whether it is there.
START_PATIENCE = 15.0
ANSWER_LIMIT = 2.0

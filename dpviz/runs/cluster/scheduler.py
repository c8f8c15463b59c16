"""The thread of an engine that starts the cluster, sends queued runs to it and passes desired states on."""

import contextlib
import os
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpviz.runs.cluster import memory
from dpviz.runs.cluster.launch import ClusterError, Connection
from dpviz.runs.collector import Collector, EndedFuture
from dpviz.runs.processes import Process, is_alive, this_machine, this_process
from dpviz.runs.reconcile import HOST_DIED, adopt, give_up, reconcile
from dpviz.runs.store.records import ACTIVE, CHARGED_KIND, OPEN, RESTARTED, Delivery, RunRecord, State, StoreError
from dpviz.runs.store.store import Store
from dpviz.runs.work import charge_name, desired_state, work

# Seconds between two looks while runs are open, and while none is; between two heartbeats.
TICK = 0.2
IDLE_TICK = 1.0
HEARTBEAT = 1.0

# Seconds that closing waits for the thread.
START_PATIENCE = 15.0

SCHEDULER_WENT = "the Dask scheduler ended, and the run with it"


@dataclass(slots=True)
class Sent:
    """A run on its way to the cluster, or there.

    Attributes:
        wanted: Its user's desired state, and how many single steps were granted.
        future: Dask's; None before it was submitted.
        worker, address: Where it runs; None and empty before it is heard of.
        charge: Its last charge that is recorded.
        passed_on: What its worker hears when it asks.
        over: Whether its future is dealt with.
    """

    wanted: tuple[str, int] = ("go", 0)
    future: Any = None
    worker: Process | None = None
    address: str = ""
    charge: str = ""
    passed_on: list[Any] | None = None
    over: bool = False


class Scheduler:
    """Owns the connection to the cluster and the futures of runs; only its own thread touches them.

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
        self._store = store
        self.connection = Connection(workers, preload, log)
        self._sent: dict[str, Sent] = {}
        self._used: dict[str, Process] = {}  # workers that have run something, by address
        self._warm = False
        self._heartbeat_at = 0.0
        self._closing = threading.Event()
        self._wake = threading.Event()
        self._stuck = False  # whether the store cannot be written, for so long that runs are held
        self.collector = Collector(store, on_batch=self._began, on_end=self._ended, on_trouble=self._written)
        self._thread = threading.Thread(target=self._run, name="dpviz-scheduler", daemon=True)
        self._thread.start()

    # Called from any thread

    def wake(self) -> None:
        """Something changed: look at once."""
        self._wake.set()

    def warm(self) -> None:
        """Start the cluster now, ahead of the first run."""
        self._warm = True
        self.wake()

    def close(self, grace: float) -> None:
        """Stop what runs, wait up to `grace` seconds for its last events, and end the cluster."""
        self._closing.set()
        self.wake()
        self._thread.join(START_PATIENCE)
        self._let_end(grace)
        self.collector.close()
        self._leave()

    # The collector's thread

    def _began(self, batch: Delivery) -> None:
        sent = self._sent.get(batch.run)
        if sent is None:
            return
        sent.worker, sent.address = Process.from_json(batch.worker), str(batch.worker.get("address", ""))
        for row in batch.rows:
            if row.kind == CHARGED_KIND:
                sent.charge = charge_name(batch.execution, row)
                self.wake()

    def _ended(self, run: str) -> None:
        if (sent := self._sent.get(run)) is not None:
            sent.over = True
        self.wake()

    def _written(self, trouble: str) -> None:
        self._stuck = bool(trouble)
        self.wake()

    # The scheduler's thread

    def _run(self) -> None:
        pause = TICK
        while not self._closing.is_set():
            try:
                pause = self._tick()
                self.problem = self.connection.problem
            except ClusterError as error:
                self.problem = str(error)
                pause = TICK
            except StoreError as error:
                self.problem, pause = str(error), IDLE_TICK
            except Exception as error:  # whatever Dask raises when a connection goes: look again
                self.problem, pause = f"{type(error).__name__}: {error}", IDLE_TICK
            self._wake.wait(pause)
            self._wake.clear()

    def _tick(self) -> float:
        """One look at everything; returns the seconds until the next."""
        if self.connection.client is not None and not self.connection.alive:
            self._lose()
        self._pass_on()
        mine = [record for record in self._store.runs(states=OPEN) if record.owner == self.owner]
        under_way = [record for record in mine if record.active and record.id in self._sent]
        for record in under_way:  # first of all: somebody waits for it
            self._want(record, self._sent[record.id])
        self._pass_on()
        if time.monotonic() - self._heartbeat_at > HEARTBEAT:
            self._store.heartbeat(self.owner, this_process())
            reconcile(self._store)
            adopt(self._store, self.owner)
            self._heartbeat_at = time.monotonic()
        self._forget()
        for record in under_way:
            if (sent := self._sent.get(record.id)) is not None:
                self._check_worker(record, sent)
        self._replace_grown()
        if self._warm or any(record.state == "queued" for record in mine):
            self.connection.open()
            if self.connection.client is not None and self.connection.equipped():
                self._warm = False
                self._dispatch()
        return TICK if mine or self._warm else IDLE_TICK

    def _dispatch(self) -> None:
        limit, host = self.connection.capacity(), self.connection.host
        while not self._closing.is_set() and (record := self._store.claim(self.owner, host, limit)) is not None:
            try:
                self._send(record)
            except Exception as error:
                if not self.connection.answers():  # not the run's fault: it waits for the next cluster
                    self._store.release(record.id)
                    raise
                reason = f"it could not be sent to the workers ({type(error).__name__}: {error})"
                self._store.change_state(record.id, "failed", reason, only=ACTIVE)
                self._ended(record.id)
                raise

    def _send(self, record: RunRecord) -> None:
        topic = f"dpviz-{record.id}"
        options = {
            key: value.replace("{run}", record.id) if isinstance(value, str) else value
            for key, value in record.options.items()
        }
        sent = self._sent[record.id] = Sent()
        self._want(record, sent)
        self._pass_on()
        client = self.connection.client
        client.subscribe_topic(topic, lambda event: self.collector.put(event[1]))
        future = client.submit(work, record.id, topic, record.target, record.settings, options, key=topic, pure=False)
        sent.future = future
        future.add_done_callback(lambda done: self.collector.put(EndedFuture(record.id, done)))

    def _want(self, record: RunRecord, sent: Sent) -> None:
        """Take note of what its user wants."""
        if record.desired == "kill":
            self._kill(record, sent)
        sent.wanted = ("stop" if record.desired == "kill" else record.desired), record.granted

    def _pass_on(self) -> None:
        """Let every worker hear what its run's user wants, and which charge of it is recorded.

        While the store cannot be written runs pause, so that no more is done than can be recorded.
        """
        for run, sent in self._sent.items():
            desired, granted = sent.wanted
            state = ["pause" if self._stuck and desired == "go" else desired, granted, sent.charge]
            if sent.passed_on != state:
                desired_state(self.connection.client, run).set(state)
                sent.passed_on = state

    def _kill(self, record: RunRecord, sent: Sent) -> None:
        """End a run without waiting for it: the state first, so that what Dask does next cannot change it."""
        self._store.change_state(record.id, "stopped", "hard stop: its worker was ended", only=ACTIVE)
        if sent.future is None:  # on its way to being sent: it will find that its run has ended
            return
        sent.future.cancel(force=True)
        if sent.worker is not None and sent.worker.machine == this_machine():
            if is_alive(sent.worker):
                os.kill(sent.worker.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        elif sent.address:
            self.connection.client.restart_workers([sent.address], raise_for_error=False)
        sent.over = True

    def _check_worker(self, record: RunRecord, sent: Sent) -> None:
        """A worker that died leaves a run that Dask will start again: say so before it does."""
        if sent.worker is None or record.state == "restarted":
            return
        lives = is_alive(sent.worker)
        if lives is None:
            lives = sent.address in self.connection.client.scheduler_info()["workers"]
        if not lives:
            sent.worker, sent.address = None, ""
            only: tuple[State, ...] = ("running", "paused")
            self._store.change_state(record.id, "restarted", RESTARTED, only=only)

    def _forget(self) -> None:
        """Let go of what belonged to runs that have ended."""
        client = self.connection.client
        for run in [run for run, sent in self._sent.items() if sent.over]:
            sent = self._sent.pop(run)
            if sent.future is not None and client is not None:
                client.unsubscribe_topic(f"dpviz-{run}")
                desired_state(client, run).delete()
            if sent.worker is not None and sent.worker.machine == this_machine():
                self._used[sent.address] = sent.worker

    def _replace_grown(self) -> None:
        """Let go of local workers that run nothing and hold much memory; the host starts others in their place.

        Dask lets go only of a worker whose results are elsewhere or released: if this one's are not yet, the next look
        tries again.
        """
        busy = {sent.address for sent in self._sent.values()}
        if self.connection.host is None or self.connection.client is None or "" in busy:
            return  # what was sent and not heard of may be anywhere
        for address in self._used.keys() - busy:
            worker = self._used[address]
            if not is_alive(worker) or memory.resident(worker.pid) <= memory.MOST_MEMORY:
                del self._used[address]
            else:
                self.connection.client.retire_workers([address], close_workers=True)

    def _lose(self) -> None:
        """The cluster died: what ran on it is lost; what had not begun, or waits, will get a new one."""
        # What came before it died may still be on its way to the store.
        time.sleep(0.2)
        reason = SCHEDULER_WENT if self.connection.host is None else HOST_DIED
        for run in self._sent:
            give_up(self._store, run, reason)
        self._leave()

    def _leave(self) -> None:
        self._sent.clear()
        self._used.clear()
        self.connection.leave()

    def _let_end(self, grace: float) -> None:
        """Ask all that runs to stop and wait for it; what has not stopped by then is lost. What waits goes on waiting,
        for the next app that opens the store."""
        for sent in self._sent.values():
            sent.wanted = ("stop", 0)
        end = time.monotonic() + grace
        with contextlib.suppress(StoreError):
            while self._mine() and time.monotonic() < end and self.connection.alive:
                with contextlib.suppress(Exception):
                    self._pass_on()
                time.sleep(0.05)
            for record in self._mine():
                give_up(self._store, record.id, "the app was closed")

    def _mine(self) -> list[RunRecord]:
        return [record for record in self._store.runs(states=ACTIVE) if record.owner == self.owner]

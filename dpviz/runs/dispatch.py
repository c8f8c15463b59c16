"""The thread of an app that sends queued runs to the cluster, passes desired states on, and records what has come.

Nothing on the cluster needs it: a run that was sent goes on, and its events wait in files, until this app or another
one looks again. Several apps may do the same at once.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpviz.runs.claims import charged_so_far
from dpviz.runs.cluster import local
from dpviz.runs.cluster.connection import ClusterError, Connection, chosen
from dpviz.runs.measuring.measurement import Measurement, Measurements
from dpviz.runs.measuring.task import PREFIX as MEASURING
from dpviz.runs.processes import Process, is_alive, this_machine
from dpviz.runs.reconcile import reconcile
from dpviz.runs.store.folders import private_folder
from dpviz.runs.store.lock import alone
from dpviz.runs.store.records import ACTIVE, OPEN, RESTARTED, RunRecord, State, StoreError
from dpviz.runs.store.store import Store
from dpviz.runs.waiting import Piece, Place, WaitingEvents, parts_of, pieces, remove
from dpviz.runs.work import begun_executions, desired_state, work

# Seconds between two looks while runs are open, and while none is; between two at the files of other machines.
TICK = 0.2
IDLE_TICK = 1.0
FAR_TICK = 0.5

# Seconds that closing waits for the thread, and that a task may take to be known to the scheduler.
CLOSING = 5.0
SENDING = 5.0

# Seconds in which a scheduler says that it has no variable of a name.
KNOWN = 0.01

DIED_TWICE = "its worker process ended twice (out of memory, or killed)"
GONE = "its workers have gone, and the run with them"
HARD_STOP = "hard stop: its worker was ended"


PREFIX = "dpviz-"

# Folder of the notes that say to whose scheduler a run was sent.
SENT = "runs-sent"

# The process of an attempt of which nothing was read.
NOBODY = Process("", 0, "")

# States of a task that does nothing more: its scheduler has none, or this app still holds its future.
OVER = (None, "erred", "memory")


def _elsewhere(cluster: str) -> str:
    return (
        f"It runs on the Dask cluster at {cluster}, and this app is connected to another one: set "
        f"DASK_SCHEDULER_ADDRESS={cluster} to see it go on, or stop it hard."
    )


def _no_workers(address: str) -> str:
    return f"no worker has joined the Dask cluster at {address}: start one, as in 'dask worker {address}'."


def key_of(run: str) -> str:
    """The key of the run's task."""
    return PREFIX + run


def of_workers(record: RunRecord) -> bool:
    """Whether an open run is for workers to compute, not for a program of its own."""
    return record.state == "queued" or not record.owner


def worker_of(store: Store, run: str) -> dict[str, Any]:
    """Where its latest attempt runs, or ran: the process, its "address", and its "cluster", "" for the local one."""
    worker: dict[str, Any] = store.attempts(run)[-1]["worker"]
    return {"address": "", "cluster": "", **NOBODY.to_json(), **worker}


def sent_to(folder: Path, address: str) -> set[str]:
    """Runs that were sent to the scheduler at the address, and of which it was not asked since they were over."""
    runs = set()
    for note in (folder / SENT).glob("*"):
        with suppress(OSError, ValueError, LookupError):  # half of a note was followed by no sending
            if json.loads(note.read_text())[0] == address:
                runs.add(note.name)
    return runs


def unread(store: Store, folder: Path) -> bool:
    """Whether the user's own cluster may know something of runs that nobody has read, though they are over."""
    address = chosen()
    return bool(address) and (address in store.unread_clusters() or bool(sent_to(folder, address)))


class Dispatcher:
    """Owns the connection to the cluster; only its own thread touches it.

    Args:
        store: The runs.
        folder: Its folder.
        workers: How many runs at once, where a local cluster is started.
        preload: Whether its workers load PyTorch before the first run comes.

    Attributes:
        problem: What keeps work from being started or recorded; "" if nothing does.
        measurements: What pages have measured, on the same cluster.
    """

    def __init__(self, store: Store, folder: Path, *, workers: int, preload: bool) -> None:
        self.problem = ""
        self.connection = Connection(folder, workers, preload, folder / "logs" / "workers.log")
        self._store, self._folder, self._place = store, folder, Place.of(folder)
        self._waiting = WaitingEvents()
        self._far = 0.0  # when files of other machines are looked at next
        self._passed_on: dict[str, tuple[str, int]] = {}
        self._last_asked = ("", 0, "")
        self._missed: dict[str, str] = {}  # workers that were not there at the last look, by run
        self._sent: dict[str, Any] = {}  # futures of this app, which say what went wrong
        self._warm = False
        self._closing = threading.Event()
        self._wake = threading.Event()
        self.measurements = Measurements(self.wake)
        with suppress(StoreError, OSError):  # said at the first look of the thread
            self.collect()  # before anybody reads what a run has cost
        self._thread = threading.Thread(target=self._run, name="dpviz-dispatch", daemon=True)
        self._thread.start()

    # Called from any thread

    def wake(self) -> None:
        """Something changed: look at once."""
        self._wake.set()

    def warm(self) -> None:
        """Start the cluster now, ahead of the first run."""
        self._warm = True
        self.wake()

    def waits(self, record: RunRecord) -> str:
        """What a run that is not over waits for, or what is wrong with its events, in words; "" if nothing."""
        if damage := self._waiting.damage_of(record.id):
            return damage
        if record.attempt and record.state != "queued":
            if (cluster := self._cluster_of(record)) != self.connection.address:
                return _elsewhere(cluster) if cluster else ""
            if record.state != "restarted":
                return ""
        return self._waits(key_of(record.id))

    def _cluster_of(self, record: RunRecord) -> str:
        """Where its latest attempt runs, which is read once for all who look."""
        run, attempt, cluster = self._last_asked
        if (run, attempt) != (record.id, record.attempt):
            cluster = str(worker_of(self._store, record.id)["cluster"])
            self._last_asked = record.id, record.attempt, cluster
        return cluster

    def waits_to_measure(self, measurement: Measurement) -> str:
        """What a measurement waits for, in words; "" if it waits for nothing, or is only about to begin."""
        at_work = any(measurement.task in keys for keys in self.connection.working.values())
        if measurement.over or (measurement.heard and at_work):
            return ""
        return self.problem or self._waits(measurement.task)

    def _waits(self, key: str) -> str:
        """What the task waits for before a worker begins with it."""
        connection, working = self.connection, self.connection.working
        if connection.starting or connection.client is None:
            return connection.starting
        if connection.other_code:
            return (
                "it waits until the runs have ended that the workers compute with another version of dpviz; then they "
                "start again with this one."
            )
        if not working:
            address = connection.address
            return _no_workers(address) if address else "it waits until a worker has started."
        others = [first for keys in working.values() if (first := next(iter(keys), "")) != key]
        if len(others) < len(working) or not all(others):
            return ""
        count = "one is" if len(others) == 1 else f"{len(others)} are"
        return f"it waits for a free worker; {count} busy with {', '.join(dict.fromkeys(map(self._title, others)))}."

    def _title(self, key: str) -> str:
        """What a task computes, for people."""
        if key.startswith(MEASURING):
            return "a measurement"
        record = self._of(key.removeprefix(PREFIX))
        return "work of another store" if record is None else record.title

    def forget(self, run: str) -> None:
        """Remove the note that says to whose scheduler a run was sent that is over."""
        (self._folder / SENT / run).unlink(missing_ok=True)

    def close(self) -> None:
        """End the thread; what runs goes on."""
        self._closing.set()
        self.wake()
        self._thread.join(CLOSING)

    # The thread

    def _run(self) -> None:
        while not self._closing.is_set():
            pause = IDLE_TICK
            try:
                pause = self._tick()
                self.problem = self.connection.problem
            except (ClusterError, StoreError, OSError) as error:
                self.problem = str(error)
            except Exception as error:  # whatever Dask raises when a connection goes: look again
                self.problem = f"{type(error).__name__}: {error}"
                if not self.connection.alive:
                    self.connection.leave()
            self._wake.wait(pause)
            self._wake.clear()
        self._sent.clear()
        self.measurements.close()
        self.connection.leave()

    def _tick(self) -> float:
        """One look at everything; returns the seconds until the next."""
        reconcile(self._store)
        self.collect()
        runs, wanted = self._open_runs(), self._warm or self.measurements.wanted
        if not runs and not wanted and not unread(self._store, self._folder):
            self._sent.clear()
            if self.connection.client is not None and not self.connection.alive:
                self.connection.leave()
            return IDLE_TICK
        if self.connection.client is not None and not self.connection.alive:
            self._lose()
        wanted = wanted or any(record.state == "queued" for record in runs)
        self.connection.open(start=wanted)
        if self.connection.client is None:
            self.measurements.update(self.connection)
            self._update_without_cluster(runs)
            return TICK
        self.connection.look()
        if self.connection.other_code and wanted:
            self._replace_cluster()
        self.measurements.update(self.connection)
        if self.connection.client is None:
            return TICK
        self._warm = self._warm and not self.connection.ready
        self.call_off()
        self._update_open(runs)
        return TICK if runs or wanted else IDLE_TICK

    def _update_open(self, runs: Sequence[RunRecord]) -> None:
        """Do what follows from the states of the tasks of these runs, those that are still open."""
        states = self._states(runs)
        self.collect()  # what a task that is not known any more left behind
        for record in self._open_runs():
            if record.id in states:
                self._update(record, states[record.id])

    def _open_runs(self) -> list[RunRecord]:
        """Runs of workers, oldest first: what queues, and what no program of its own computes."""
        return [record for record in reversed(self._store.runs(states=OPEN)) if of_workers(record)]

    # What comes from the workers

    def collect(self) -> None:
        """Record what waits on this machine and, now and then, on others."""
        self.collect_from(lambda act, *values: [act(self._place, *values)])
        if self.connection.local or not self.connection.alive or time.monotonic() < self._far:
            return
        self._far = time.monotonic() + FAR_TICK
        # One worker on each machine reads for all.
        hosts = list({address.rpartition(":")[0]: address for address in self.connection.working}.values())
        if hosts and self.connection.equipped():
            run, how = self.connection.client.run, {"workers": hosts, "on_error": "ignore"}
            self.collect_from(lambda act, *values: list(run(act, self._place, *values, **how).values()))

    def _collect_everywhere(self) -> None:
        """Record what waits, on other machines too."""
        self._far = 0.0
        self.collect()

    def collect_from(self, there: Callable[..., list[Any]]) -> None:
        """Record what waits where `there` calls functions, and remove the files that hold nothing more."""
        seen: set[str] = set()
        while True:
            came = [piece for some in there(pieces, self._waiting.read) for piece in some]
            seen.update(piece.name for piece in came)
            if not self._record(came):
                break
        whole = sorted(seen & self._waiting.whole)
        if over := [name for name in whole if self._store.all_recorded(*parts_of(name))]:
            there(remove, over)
            self._waiting.forget(over)

    def _record(self, came: Sequence[Piece]) -> bool:
        """Whether there was anything."""
        before = self._waiting.copy()
        try:
            deliveries = self._waiting.deliveries(came)
            if deliveries:
                self._store.record(deliveries)
        except BaseException:
            self._waiting = before
            raise
        return bool(deliveries)

    def _of(self, run: str) -> RunRecord | None:
        """Its record; None where the store has none."""
        with suppress(KeyError):
            return self._store.run(run)
        return None

    # What goes to them

    def call_off(self) -> None:
        """Stop what the workers have of runs that are over, and forget what they have no longer."""
        keys = {key.removeprefix(PREFIX) for keys in self.connection.working.values() for key in keys}
        for run in keys | self._passed_on.keys() | sent_to(self._folder, self.connection.address):
            record = self._of(run)
            if record is not None and not record.over:
                continue
            if run not in keys:
                if record is not None and not self._expect_begun(run):
                    self.began_unseen(run)
                self.forget(run)
                desired_state(self.connection.client, run).delete()
                begun_executions(self.connection.client, run).delete()
                self._passed_on.pop(run, None)
                self._sent.pop(run, None)
            elif record is not None:
                self._pass_on(record, "stop")
                if not self._begun(run):
                    self._cancel(run)

    def _states(self, runs: Sequence[RunRecord]) -> dict[str, str | None]:
        """The state of each run's task, None where the scheduler has none."""
        client, keys = self.connection.client, {key_of(record.id): record.id for record in runs}
        answer = client.sync(client.scheduler.get_task_status, keys=list(keys))
        return {keys[key]: state for key, state in answer.items()}

    def _update(self, record: RunRecord, state: str | None) -> None:
        """Do what follows from the state of a run's task."""
        if record.desired == "kill":
            return self._kill(record)
        if record.state == "queued":
            if state in OVER and self.connection.equipped() and not self.connection.other_code:
                self._send(record)
            return None
        self._sent.pop(record.id, None)  # a result that is held would be computed again if its worker died
        if state in OVER:
            self._update_lost(record)
        else:
            self._pass_on(record)
            self._check_worker(record)
        return None

    def _send(self, record: RunRecord) -> None:
        """Submit a run; Dask holds it until a worker is free.

        Of several apps only one does it: a run that another has sent may have ended meanwhile.
        """
        if (failed := self._why_refused(record.id)) is not None:
            self._store.change_state(record.id, "failed", failed, only=OPEN)
            return
        import distributed

        client: Any = self.connection.client
        go_on: Any = distributed.fire_and_forget  # when nobody looks
        with alone(self._folder / "runs-sending.lock", SENDING):
            state = self._states([record])[record.id]
            self._collect_everywhere()
            if state is not None or self._expect_begun(record.id) or self._store.run(record.id).state != "queued":
                return
            if self.began_unseen(record.id):
                return
            self._pass_on(record)
            begun_executions(self.connection.client, record.id).set([])
            options = {
                name: value.replace("{run}", record.id) if isinstance(value, str) else value
                for name, value in record.options.items()
            }
            key = key_of(record.id)
            before = charged_so_far(record, self._store).to_json() if record.attempt else None
            address = self.connection.address
            task = (work, record.id, key, address, self._place, record.target, record.settings, options, before)
            needs = self._needs(record)
            future = self._sent[record.id] = client.submit(*task, key=key, pure=False, resources=needs)
            go_on(future)
            end = time.monotonic() + SENDING
            while self._states([record])[record.id] is None and not future.done() and time.monotonic() < end:
                time.sleep(0.01)

    def _begun(self, run: str) -> list[str]:
        """Executions that began since the run was last sent, as the scheduler knows."""
        with suppress(TimeoutError):
            return list(begun_executions(self.connection.client, run).get(timeout=KNOWN))
        return []

    def _expect_begun(self, run: str) -> bool:
        """Charge executions that the scheduler knows to have begun, and whose events did not come; whether any did
        whose attempt is not over."""
        over = {attempt["execution"] for attempt in self._store.attempts(run) if attempt["ended"] is not None}
        if fresh := [execution for execution in self._begun(run) if execution not in over]:
            self._store.expect(run, fresh, {"cluster": self.connection.address})
        return bool(fresh)

    def began_unseen(self, run: str) -> bool:
        """Charge what a scheduler that is gone may have begun on other machines; whether there was such a one.

        Before a run is sent to other machines, a note on this disk names their scheduler, for what it knew goes with
        it, and the attempts that were known then.
        """
        note, before, attempt = self._folder / SENT / run, None, self._store.run(run).attempt
        here = [self.connection.address, str(self.connection.client.scheduler_info(n_workers=0)["id"]), attempt]
        with suppress(FileNotFoundError, ValueError):  # half of a note was followed by no sending
            before = [*json.loads(note.read_text()), 0][:3]
        if before is not None and before[:2] != here[:2] and before[2] == attempt:
            self._store.expect(run, [f"unread, of {before[1]}, after attempt {attempt}"], {"cluster": before[0]})
            return True
        if before is None and not self.connection.local:
            private_folder(note.parent)
            with note.open("w") as file:
                json.dump(here, file)
                file.flush()
                os.fsync(file.fileno())
        return False

    def _needs(self, record: RunRecord) -> dict[str, float] | None:
        """What a worker must have free: of a run on a GPU one card, where workers say how many they have."""
        workers = self.connection.client.scheduler_info(n_workers=-1)["workers"].values()
        gpus = record.settings.get("device") == "cuda" and any("GPU" in worker["resources"] for worker in workers)
        return {"GPU": 1.0} if gpus else None

    def _why_refused(self, run: str) -> str | None:
        """Why Dask gave up a task that this app had sent and that never began; None if it may be sent."""
        future = self._sent.pop(run, None)
        if future is None or future.status != "error":
            return None
        error = future.exception(timeout=5)
        if type(error).__name__ == "KilledWorker":  # it only waited on workers that died
            return None
        return f"{type(error).__name__}: {error}"

    def _pass_on(self, record: RunRecord, desired: str = "") -> None:
        """Let the run's worker hear what its user wants, or what is `desired` of it instead."""
        wanted = desired or record.desired, record.granted
        if self._passed_on.get(record.id) != wanted:
            desired_state(self.connection.client, record.id).set(list(wanted))
            self._passed_on[record.id] = wanted

    def _check_worker(self, record: RunRecord) -> None:
        """A worker that died leaves a run that Dask starts again: say so before it does."""
        address, missed = worker_of(self._store, record.id)["address"], self._missed.pop(record.id, "")
        if record.state != "restarted" and address not in self.connection.working:
            self._missed[record.id] = address
            if address == missed:  # it has not just come, after the workers were asked
                only: tuple[State, ...] = ("running", "paused")
                self._store.change_state(record.id, "restarted", RESTARTED, only=only)

    def _kill(self, record: RunRecord) -> None:
        """End a run without waiting for it: the state first, so that what Dask does next cannot change it."""
        self._store.change_state(record.id, "stopped", HARD_STOP, only=ACTIVE)
        self._cancel(record.id)
        worker = worker_of(self._store, record.id)
        process = Process.from_json(worker)
        if process.machine == this_machine():
            if is_alive(process):
                os.kill(process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        elif worker["address"]:
            self.connection.client.restart_workers([worker["address"]], raise_for_error=False)

    def _cancel(self, run: str) -> None:
        """Let Dask forget the run's task."""
        from distributed import Future

        make: Any = Future
        make(key_of(run), client=self.connection.client).cancel(force=True)

    def _replace_cluster(self) -> None:
        """End a local cluster of another version that computes nothing, so that one of this version is started.

        What another app sends meanwhile would be lost with it, so it must wait.
        """
        with alone(self._folder / "runs-sending.lock", SENDING):
            self.collect()
            runs = self._open_runs()
            computes = any(self.connection.client.processing().values())
            if not computes and all(state in OVER for state in self._states(runs).values()):
                self.connection.end_cluster()

    # What is gone

    def _lose(self) -> None:
        """The connection broke."""
        self._passed_on.clear()
        self._sent.clear()
        self.connection.leave()

    def _update_without_cluster(self, runs: Sequence[RunRecord]) -> None:
        """No cluster is up: of the local one nothing that had begun is left."""
        if self.connection.local and local.find(self._folder) is None:
            self.collect()
            for record in runs:
                if record.attempt and self._store.run(record.id).active:
                    self._update_lost(record)

    def _update_lost(self, record: RunRecord) -> None:
        """A run that had begun, and of which its cluster knows nothing more."""
        worker = worker_of(self._store, record.id)
        if worker["cluster"] != self.connection.address:
            return  # on another cluster, which may still know it
        self._collect_everywhere()
        twice = record.attempt > 1 and self.connection.client is not None
        state: State = "failed" if twice else "lost"
        self._store.change_state(record.id, state, DIED_TWICE if twice else GONE, only=ACTIVE)

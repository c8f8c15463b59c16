"""Processes are killed at random moments: ``python -m tools.attack.kills``. Nothing recorded may be lost.

Each round starts an app of its own with a run under way and one that waits, kills one of the three with SIGKILL at a
moment drawn from a fixed seed, and looks through the eyes of another app: the events that were recorded before are
all there, the states are true (without its app a run goes on), the run that waits runs to its end, and no process is
left once the workers were ended.

`Programs`, for tests, kills many programs that train in a loop of their own (`recorded`): what the store claims then is
held against the steps whose weights they had seen. `tools.attack.programs` does it to a few, on full disks too.
"""

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self
from unittest.mock import patch

import psutil

from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.mechanisms import SampledGaussian
from dpviz.runs.claims import claim_of_record, mechanisms
from dpviz.runs.cluster import local
from dpviz.runs.engine import Engine
from dpviz.runs.exchange.files import export_run
from dpviz.runs.exchange.import_run import import_run
from dpviz.runs.reconcile import reconcile
from dpviz.runs.store.store import open_store
from tests.runs.conftest import HERE, PLAIN, family, gone, kill

ROUNDS = 4  # of each victim
NOISE, RATE, STEPS = 1.5, 0.1, 5_000
SECONDS = 480.0  # no round begins later than this
PATIENCE = 60.0

APP = """
import sys, time
from pathlib import Path
sys.path.append({here!r})
from dpviz.runs.cluster import local
from dpviz.runs.engine import Engine
engine = Engine(Path({folder!r}), workers=1, preload=False)
run = engine.submit({{"steps": 100000, "pause": 0.01}}, target={target!r})
queued = engine.submit({{"steps": 3}}, target={target!r})
while engine.run(run).steps < 3:
    time.sleep(0.02)
print(run, queued, local.find(engine.folder).process.pid, engine.store.attempts(run)[-1]["worker"]["pid"], flush=True)
while not engine.run(queued).over:
    time.sleep(0.05)
"""


# One process imports what takes seconds; each program is a fork of it, which writes down each step once its weights are
# there to be seen.
PROGRAM = f"""
import os, sys
import torch
from torch import nn
from dpviz.runs.recorded import recorded
from dpviz.training import PrivateTraining

torch.set_num_threads(1)
data = torch.randn(300, 6), torch.randint(0, 3, (300,))

def made():
    network = nn.Linear(6, 3)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
    return PrivateTraining(
        network, data, optimiser, batch_size={int(300 * RATE)}, steps={STEPS}, noise_multiplier={NOISE}
    )

def train(folder):
    training = made()
    seen = os.open(folder + "-seen", os.O_CREAT | os.O_WRONLY)
    for step in recorded(training, folder=folder):
        os.pwrite(seen, b"%d " % step.number, 0)
        if step.number == 1:
            print(os.getpid(), flush=True)

made().planned  # kept by all forks
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        train(line.strip())
    print(-os.waitpid(child, 0)[1], flush=True)
"""


class Killed(NamedTuple):
    """A recorded program that was killed: steps it had seen and steps that were charged; ε of the former, what is
    claimed, and what is after export and import."""

    seen: int
    charged: int
    true: float
    claimed: float
    imported: float


class Programs:
    """Starts recorded programs and kills them."""

    def __enter__(self) -> Self:
        self._server = subprocess.Popen(
            [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.kill()
        self._server.communicate()

    def kill(self, folder: Path, moment: float, *, after: int = 1) -> Killed:
        """`moment` seconds after so many steps."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(f"{folder}\n")
        self._server.stdin.flush()
        pid = int(self._server.stdout.readline())
        note = Path(f"{folder}-seen")
        while int(note.read_text().split()[0]) < after:
            time.sleep(0.001)
        time.sleep(moment)
        kill(pid)
        assert int(self._server.stdout.readline()) == -9
        seen = int(note.read_text().split()[0])
        store = open_store(folder)
        reconcile(store)
        (record,) = store.runs()
        assert record.state == "lost", record
        charged = sum(count for _, count in mechanisms(store.digest(record.id)))
        true = float(tight_epsilon(SampledGaussian(NOISE, RATE), seen, 1e-5).lower)
        copy = import_run(store, export_run(store, record.id))
        claimed, imported = (claim_of_record(one, store).epsilon for one in (record, copy))
        store.close()
        return Killed(seen, charged, true, claimed, imported)


class Round(NamedTuple):
    """What one kill left: events recorded before it that are gone, whether all states are true, processes left."""

    lost: int
    true: bool
    left: int
    seconds: float


def attack(victim: str, moment: float) -> Round:
    """Kill the "worker", the "host" or the "app" `moment` seconds after the run's third step."""
    # The app that takes over starts workers that can import the same training.
    with tempfile.TemporaryDirectory() as name, patch.object(sys, "path", [*sys.path, str(HERE)]):
        folder = Path(name)
        script = APP.format(here=str(HERE), folder=str(folder), target=PLAIN)
        app = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=HERE.parents[1])
        engine = None
        try:
            assert app.stdout is not None
            run, queued, host, worker = app.stdout.readline().split()
            processes = family(int(host))
            time.sleep(moment)
            engine = Engine(folder, workers=1, preload=False)
            before = engine.store.events(run)
            kill({"worker": int(worker), "host": int(host), "app": app.pid}[victim])
            begun = time.monotonic()
            if victim == "worker":
                engine.wait(run, PATIENCE, ("restarted",))
            elif victim == "app":
                time.sleep(moment)
            engine.stop(run)
            ended = engine.wait(queued, PATIENCE)
            seconds = time.monotonic() - begun
            kept = engine.store.events(run, 1)
            lost = len(before) - sum(a == b for a, b in zip(before, kept, strict=False))
            expected = "lost" if victim == "host" else "stopped"
            attempts = 2 if victim == "worker" else 1
            now = engine.wait(run, PATIENCE)
            true = (ended.state, now.state, now.attempt) == ("done", expected, attempts)
        finally:
            app.kill()
            app.communicate()
            if engine is not None:
                engine.shutdown()
            local.stop(folder)
        end = time.monotonic() + 10.0
        while not gone(processes) and time.monotonic() < end:
            time.sleep(0.05)
        left = sum(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes)
        return Round(lost, true, left, seconds)


def table() -> str:
    """What every kill left behind, by victim; where time runs out, as many rounds of each."""
    chance, begun = random.Random(8), time.monotonic()
    moments = {victim: [chance.uniform(0.0, 1.0) for _ in range(ROUNDS)] for victim in ("worker", "host", "app")}
    done: dict[str, list[Round]] = {victim: [] for victim in moments}
    for number in range(ROUNDS):
        if time.monotonic() - begun < SECONDS:
            for victim, rounds in done.items():
                rounds.append(attack(victim, moments[victim][number]))
    rows = [
        f"| {victim} | {len(rounds)} | {sum(r.lost for r in rounds)} | {sum(not r.true for r in rounds)} | "
        f"{sum(r.left for r in rounds)} | {max(r.seconds for r in rounds):.1f} s |"
        for victim, rounds in done.items()
    ]
    return "\n".join(
        [
            "## Kills",
            "",
            "A run is under way and another one waits while SIGKILL meets one process at a random moment (seed 8); "
            "another app looks on, and stops the run where it goes on.",
            "",
            "| killed | rounds | events lost | untrue states | processes left | waiting run done after, worst |",
            "|---|---|---|---|---|---|",
            *rows,
        ]
    )


if __name__ == "__main__":
    print(table())

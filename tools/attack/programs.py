"""Programs that record their training, killed and on disks that fill: ``python -m tools.attack.programs``.

Each round starts a program of its own, which says every step that it has seen; its weights may be anywhere by then.
After the end the store is looked at: what it claims must cover the last step that was said.
"""

import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from dpviz.runs.claims import claim_of_record
from dpviz.runs.engine import Engine

ROUNDS = 6  # of each kind
SECONDS = 150.0  # no round begins later than this
PATIENCE = 240.0
FULL = 1.0  # seconds without space
DISK = 16  # MB

PROGRAM = """
import sys, torch
from dpviz.runs.recorded import recorded
from dpviz.training import PrivateTraining
torch.set_num_threads(1)
draw = torch.Generator().manual_seed(1)
network = torch.nn.Linear(6, 3)
data = torch.randn(300, 6, generator=draw), torch.randint(0, 3, (300,), generator=draw)
steps, noise = int(sys.argv[1]), float(sys.argv[2])
optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
training = PrivateTraining(network, data, optimiser, batch_size=30, steps=steps, noise_multiplier=noise)
if len(sys.argv) > 3:
    for step in recorded(training, folder=sys.argv[3]):
        print(step.number, flush=True)
else:
    print(training.planned.epsilon)
"""
PLAN, NOISE = 20_000, 1.5


class Round(NamedTuple):
    """The last step that the program said, the ε of so many steps, and the ε that the store claims."""

    steps: int
    truth: float
    claimed: float


class Program:
    """One that is under way; it ends by itself or by `kill`."""

    def __init__(self, folder: Path) -> None:
        arguments = [sys.executable, "-c", PROGRAM, str(PLAN), str(NOISE), str(folder)]
        self._process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.steps = 0
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.endswith("\n"):
                self.steps = int(line)

    def run_for(self, seconds: float) -> None:
        """Wait for its first steps, then so long."""
        end = time.monotonic() + PATIENCE
        while not self.steps and time.monotonic() < end:
            time.sleep(0.01)
        if not self.steps:
            raise RuntimeError(f"The program took no step in {PATIENCE:g} s.")
        time.sleep(seconds)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


def claimed(folder: Path) -> float:
    """The ε of the only run there, as another app sees it."""
    engine = Engine(folder, workers=1, preload=False)
    try:
        (record,) = engine.runs()
        return claim_of_record(record, engine.store).epsilon
    finally:
        engine.shutdown()


def epsilon_of(steps: int) -> float:
    """What a training of so many steps claims that ends in order."""
    return float(subprocess.check_output([sys.executable, "-c", PROGRAM, str(max(steps, 1)), str(NOISE)]))


def killed(folder: Path, moment: float) -> Round:
    """SIGKILL, `moment` seconds after the first step."""
    program = Program(folder)
    program.run_for(moment)
    program.kill()
    return Round(program.steps, epsilon_of(program.steps), claimed(folder))


def filled(folder: Path, moment: float) -> Round:
    """The disk is full `moment` seconds after the first step, for a second; SIGKILL another second later."""
    program = Program(folder)
    program.run_for(moment)
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as out:
        try:
            while True:
                out.write(bytes(4096))
        except OSError:
            pass
    time.sleep(FULL)
    filler.unlink()
    time.sleep(FULL)
    program.kill()
    return Round(program.steps, epsilon_of(program.steps), claimed(folder))


@contextmanager
def small_disk() -> Iterator[Path | None]:
    """A disk of its own of `DISK` MB; None where none may be mounted."""
    with tempfile.TemporaryDirectory() as name:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}m,mode=0700", "dpviz-attack", name]
        if (
            not sys.platform.startswith("linux")
            or os.geteuid()
            or subprocess.run(mount, capture_output=True).returncode
        ):
            yield None
            return
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", name], check=True)


@contextmanager
def any_folder() -> Iterator[Path | None]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def table(rounds: int = ROUNDS) -> str:
    """What every round left."""
    chance = random.Random(8)
    rows = []
    for name, attack, place in (("killed", killed, any_folder), ("disk full, then killed", filled, small_disk)):
        begun, results = time.monotonic(), list[Round]()
        for _ in range(rounds):
            with place() as folder:
                if folder is not None and time.monotonic() - begun < SECONDS:
                    results.append(attack(folder, chance.uniform(0.0, 1.5)))
        if not results:
            rows.append(f"| {name} | 0: only root may mount a disk | – | – | – |")
            continue
        worst = min(results, key=lambda one: one.claimed / one.truth)
        rows.append(
            f"| {name} | {len(results)} | {max(one.steps for one in results)} | "
            f"{sum(one.claimed < one.truth for one in results)} | {worst.claimed:.3f} of {worst.truth:.3f} |"
        )
    return "\n".join(
        [
            "## Programs",
            "",
            "A program records its own training (`dpviz.runs.recorded`) and is killed with SIGKILL, in the second row "
            f"after its disk of {DISK} MB was full for {FULL:g} s (seed 8). The store's claim is held against the last "
            "step that the program saw.",
            "",
            "| what | rounds | most steps | claims below the truth | least claimed, of the true ε |",
            "|---|---|---|---|---|",
            *rows,
        ]
    )


if __name__ == "__main__":
    print(table())

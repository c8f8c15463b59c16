"""What is measured, and what is wanted."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from benchmarks import compare_steps, step_memory
from benchmarks.scale import viewers
from benchmarks.scale.stores import RUNS, STEPS, many_runs, under_way

LONGEST = 600.0  # seconds of one measurement


class Row(NamedTuple):
    """One goal: what is measured, what is wanted, what was found, and whether that is enough (None: no goal)."""

    what: str
    goal: str
    found: str
    met: bool | None

    def __str__(self) -> str:
        return f"| {self.what} | {self.goal} | {self.found} | {'–' if self.met is None else ('no', 'yes')[self.met]} |"


@contextmanager
def folder() -> Iterator[Path]:
    """A folder of its own for stores."""
    with tempfile.TemporaryDirectory() as name, patch.dict(os.environ, DPVIZ_HOME=name, OMP_NUM_THREADS="1"):
        yield Path(name)


def elsewhere(name: str, *arguments: object) -> Any:
    """What a measurement finds in a process of its own.

    Raises:
        RuntimeError: if it fails, or takes longer than `LONGEST`.
    """
    command = [sys.executable, "-m", "benchmarks.scale.measured", name, *map(str, arguments)]
    try:
        ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{name} took longer than {LONGEST:.0f} s.") from None
    if ran.returncode:
        raise RuntimeError(f"{name} failed: {ran.stderr[-2000:]}")
    return json.loads(ran.stdout.splitlines()[-1])


def at_most(what: str, most: float | None, value: float, unit: str) -> Row:
    """A value that should be small."""
    return Row(what, f"≤ {most:g} {unit}" if most else "–", f"{value:.3g} {unit}", value <= most if most else None)


def runs_page() -> Iterator[Row]:
    with folder() as here:
        many_runs(here)
        seconds, _, size = elsewhere("runs_page", here)
    yield at_most(f"Runs page, {RUNS:,} runs", 150, 1e3 * seconds, "ms")
    yield at_most(f"Runs page, {RUNS:,} runs, sent", 50, size / 1e3, "KB")


def long_run() -> Iterator[Row]:
    what = f"run of {STEPS:,} steps"
    with folder() as here:
        under_way(here, STEPS)
        yield at_most(f"{what}, on the disk", None, (here / "runs.sqlite").stat().st_size / 1e6, "MB")
        seconds, memory = elsewhere("opened", here)
        yield at_most(f"{what}, on screen", 1, seconds, "s")
        yield at_most(f"{what}, on screen, memory", 50, memory, "MB")
        seconds, _ = elsewhere("update", here)
        yield at_most("one update of it made, for all who watch", None, 1e3 * seconds, "ms")
        seconds, memory, size = elsewhere("exported", here)
        yield at_most(f"{what}, exported", None, seconds, "s")
        yield at_most(f"{what}, exported, memory", None, memory, "MB")
        yield at_most(f"{what}, its file", 200, size, "MB")
        seconds, memory = elsewhere("imported", here)
        yield at_most(f"{what}, imported", None, seconds, "s")
        yield at_most(f"{what}, imported, memory", None, memory, "MB")


def watched_run() -> Iterator[Row]:
    with folder() as here:
        found = viewers.measured(here)
    what = f"{viewers.VIEWERS} viewers of a live run"
    yield at_most(f"{what}, from the first to the last (waited; worst of {viewers.UPDATES})", 1, found["spread"], "s")
    yield at_most(f"{what}, from the update to the last (waited)", None, found["late"], "s")
    yield at_most(f"{what}, the app's time for a viewer and a look", 14, 1e3 * found["look"], "ms")
    yield Row(f"{what}, looks a second", "100", f"{found['looks']:.0f}, {found['cores']:.2f} cores", None)


def accounting() -> Iterator[Row]:
    seconds, memory = elsewhere("table_of_settings", ".")
    yield at_most("Rényi ε of 1000 × 1000 settings", 20, seconds, "s")
    yield at_most("Rényi ε of 1000 × 1000 settings, memory", 500, memory, "MB")
    seconds, memory = elsewhere("distinct_noise", ".")
    yield at_most("numerical ε of 10⁵ steps with distinct noise", 20, seconds, "s")
    yield at_most("numerical ε of 10⁵ steps with distinct noise, memory", 500, memory, "MB")
    ratios = elsewhere("curve", ".")
    for name, times in (("Opacus", 2.0), ("dp-accounting", 4.0)):
        ratio = ratios[name]
        yield Row(f"Rényi, 200 points: {name} ÷ dpviz", f"≥ {times:g}", f"{ratio:.2f}", ratio >= times)


def steps() -> Iterator[Row]:
    for name, batches in compare_steps.BATCHES.items():
        for batch in batches:
            ratios = elsewhere("steps", ".", name, batch)
            ours = ratios.pop("dpviz")
            others = ", ".join(f"{engine} {ratio:.2f}" for engine, ratio in ratios.items())
            least = min(ratios.values())
            yield Row(f"{name}, batch {batch}: private step ÷ plain step", f"≤ {least:.2f} ({others})", f"{ours:.2f}",
                      ours <= least)  # fmt: skip


def memory_of_steps() -> Iterator[Row]:
    for name, batches in compare_steps.BATCHES.items():
        batch = str(batches[-1])
        plain, ours = (step_memory.added(compare_steps.__file__, one, name, batch) for one in ("plain", "dpviz"))
        if "–" in (plain, ours):
            raise RuntimeError(f"The memory of {name} could not be measured: {plain} MiB, {ours} MiB.")
        most = 1.2 * float(plain)
        yield Row(f"{name}, batch {batch}: memory that steps add", f"≤ {most:.0f} MiB (1.2 × {plain})", f"{ours} MiB",
                  float(ours) <= most)  # fmt: skip


PARTS: dict[str, Callable[[], Iterator[Row]]] = {
    part.__name__: part for part in (runs_page, long_run, watched_run, accounting, steps, memory_of_steps)
}

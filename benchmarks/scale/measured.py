"""The measurements, each a process of its own: ``python -m benchmarks.scale.measured NAME FOLDER …``.

Each prints, as JSON, the seconds of its processor and what it adds to the memory of its process at its peak, in MB.
"""

import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import step_memory
from benchmarks.scale.stores import last, printed, stretch, tell

MB = 1e6
ROUNDS, EXAMPLES = 9, 6400  # least rounds of whole steps; examples in all, where that makes more rounds


def cost(act: Callable[[], object]) -> list[float]:
    """Seconds of the processor, and MB at the peak."""
    begun = time.process_time()
    added = step_memory.added_by(act)
    return [time.process_time() - begun, added / MB]


def runs_page(folder: str) -> list[float]:
    """The page Runs drawn again, and the bytes that it sends."""
    from tests.ui.driver import open_app

    def size(block: Any) -> int:
        inner, own = getattr(block, "children", None), getattr(block, "proto", None)
        return sum(map(size, inner.values())) if inner else 0 if own is None else own.ByteSize()

    at = open_app("runs")
    return [*cost(at.run), size(at.main)]


def opened(folder: str) -> list[float]:
    """A run on the screen of an app that has not seen it, but another one."""
    from dpviz.runs.engine import Engine
    from dpviz.ui.train.live import screen

    engine, charts = Engine(preload=False), ("epsilon", "loss")
    (run,) = engine.store.runs()
    other = engine.store.create(target="a:b", settings={}, options={})
    screen(engine, other.id, charts)
    return cost(lambda: screen(engine, run.id, charts))


def exported(folder: str) -> list[float]:
    """The file of a run, which is left in the folder."""
    from dpviz.runs.exchange.files import export_run
    from dpviz.runs.store.store import open_store

    store = open_store()
    run = store.runs()[-1]  # the newest comes first
    found = cost(lambda: (Path(folder) / "run.jsonl.gz").write_bytes(export_run(store, run.id)))
    return [*found, (Path(folder) / "run.jsonl.gz").stat().st_size / MB]


def imported(folder: str) -> list[float]:
    """The same file taken in, every ε worked out again."""
    from dpviz.runs.exchange.import_run import import_run
    from dpviz.runs.store.store import open_store

    with (Path(folder) / "run.jsonl.gz").open("rb") as file:
        return cost(lambda: import_run(open_store(Path(folder) / "again"), file))


def table_of_settings(folder: str) -> list[float]:
    """Rényi ε of 1000 × 1000 settings in one call."""
    import dpviz

    sigma, rate = np.geomspace(0.6, 20.0, 1000)[:, None], np.geomspace(1e-3, 0.3, 1000)
    return cost(lambda: dpviz.epsilon("renyi", noise_multiplier=sigma, sample_rate=rate, steps=1000, delta=1e-5))


def distinct_noise(folder: str) -> list[float]:
    """The numerical ε of 10⁵ steps, each with a noise of its own."""
    import dpviz
    from dpviz.mechanisms import SampledGaussian

    steps = [(SampledGaussian(float(sigma), 0.01), 1) for sigma in np.geomspace(1.0, 20.0, 100_000)]
    return cost(lambda: dpviz.accountant("tight").of_events(steps, 1e-5))


def curve(folder: str) -> dict[str, float]:
    """A curve of 200 points: how many times as long others take, all used well, in turns."""
    from benchmarks import bench_accountants as bench

    ours, others = lambda: bench.curves(methods=("renyi",)), bench.OTHERS
    took: dict[str, list[float]] = {name: [] for name in ("dpviz", *others)}
    for _ in range(4):
        for name, act in {"dpviz": ours, **others}.items():
            took[name].append(bench.best_of(10, act))
    return {name: min(seconds) / min(took["dpviz"]) for name, seconds in took.items()}


def steps(folder: str, name: str, batch: str) -> dict[str, float]:
    """A whole step ÷ a plain one, of every engine of `compare_steps`."""
    from benchmarks import compare_steps

    took = compare_steps.interleaved(name, int(batch), max(ROUNDS, EXAMPLES // int(batch)))
    plain = took.pop("plain")
    return {
        engine: statistics.median(one / other for one, other in zip(seconds, plain, strict=False))
        for engine, seconds in took.items()
    }


def update(folder: str) -> list[float]:
    """One update made, which all who watch are sent."""
    from dpviz.runs.engine import Engine
    from dpviz.ui.train import live

    engine, charts = Engine(preload=False), ("epsilon", "loss")
    run = engine.store.runs()[-1]  # the newest comes first
    engine.live.max_age = 0.0
    live.update(engine, run.id, charts)
    tell(engine.store, run.id, last(engine.store, run.id) + 1, [stretch(run.steps + 1)])
    return cost(lambda: live.update(engine, run.id, charts))


MEASURED: dict[str, Callable[..., Any]] = {
    act.__name__: act
    for act in (
        runs_page, opened, exported, imported, table_of_settings, distinct_noise, curve, steps, update,
    )
}  # fmt: skip


if __name__ == "__main__":
    warnings.filterwarnings("ignore")  # Opacus's, on hooks and on its own random numbers
    name, *arguments = sys.argv[1:]
    printed(MEASURED[name](*arguments))
    sys.stdout.flush()
    os._exit(0)  # threads of an app are left behind

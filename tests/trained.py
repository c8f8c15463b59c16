"""Tiny networks: trained once a process and recorded as runs that ended, and measurements that nobody made."""

import json
import tempfile
import time
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dpviz.gradients.leakage import Leakage
from dpviz.runs.engine import Engine
from dpviz.runs.processes import this_process
from dpviz.runs.store import jsontext
from dpviz.runs.store.records import Delivery, EventRow
from dpviz.training.settings import RunSettings

TINY = RunSettings(
    data="abalone",
    model="logistic",
    steps=8,
    batch_size=64,
    noise_multiplier=2.0,
    max_grad_norm=1.0,
    device="cpu",
    evaluation_every=0,
)


@cache
def trained(method: str) -> tuple[bytes, dict[str, Any]]:
    """The file of weights that TINY leaves behind with this method, and its last event."""
    from dpviz.training.loop import FreeRun, run

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "weights.pt"
        summary = run(TINY.with_(method=method), lambda event: None, FreeRun(), weights_to=path)
        return path.read_bytes(), summary


def recorded(
    made: Engine, method: str = "dp_sgd", *, name: str = "", told: dict[str, Any] | None = None, **changed: Any
) -> str:
    """The run in the store as if it had ended here; `told` replaces parts of its summary, `changed` settings."""
    weights, summary = trained(method)
    settings = TINY.with_(method=method, **changed).to_json()
    record = made.store.create(target="dpviz.runs.work:train", settings=settings, options={}, name=name)
    made.store.begin(record.id)
    made.weights(record.id).parent.mkdir(exist_ok=True)
    made.weights(record.id).write_bytes(weights)
    last = {"kind": summary["state"], "step": summary["steps"], "time": 1.0, **summary, **(told or {})}
    row = EventRow(0, last["kind"], last["step"], 1.0, jsontext.write(last))
    made.store.record([Delivery(record.id, "one", this_process().to_json(), (row,), time.time())])
    return record.id


def invented(arguments: dict[str, Any]) -> Leakage:
    """A measurement that nobody made, other for other arguments: where measuring itself is not what is tried."""
    size, random = arguments["examples"], _random_of(arguments)
    distances, losses = random.lognormal(sigma=2.0, size=(2, size // 2)), random.exponential(size=(2, size))
    return Leakage(*distances, *losses, size, 0, 0.9, 0.8, "invented")


def invented_scores(arguments: dict[str, Any]) -> dict[str, list[float]]:
    """Scores of an audit's runs, likewise: a hundred a side for each seed."""
    random, runs = _random_of(arguments), 100 * len(arguments["seeds"])
    return {side: (place + random.standard_normal(runs)).tolist() for side, place in (("without", 0.0), ("with", 1.0))}


def _random_of(arguments: dict[str, Any]) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(json.dumps(arguments, sort_keys=True, default=str).encode()))

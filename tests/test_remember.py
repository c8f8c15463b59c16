"""What is remembered: bounded in bytes, by value, computed once, and nothing beside it that could grow."""

import ast
import gc
import re
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from dpviz._remember import MEMORY, Memory, Named, remembered, weight
from dpviz.accounting.bayesian.sweep import BayesianSweep
from dpviz.gradients.families import draw_norms
from dpviz.gradients.sample import GradientSample
from dpviz.mechanisms.divergences import replaced_divergence
from dpviz.questions import gradients
from dpviz.questions.gradient_fields import COUNT, SEED, SOURCE
from dpviz.questions.gradients import File
from dpviz.questions.noise.curves import QUANTILES
from dpviz.questions.source import Held
from dpviz.ui import server, sources
from tests.ui.driver import compute

ROOT = Path(__file__).resolve().parents[1]


def test_weight_is_what_is_kept_alive() -> None:
    array = np.zeros(10_000)
    holder = SimpleNamespace(held=array)
    for value in (array, array[:1], array[::2].reshape(50, 100), holder, {"a": [(array,)]}, lambda: array):
        assert 80_000 <= weight(value) < 83_000, value
    assert 160_000 <= weight([array, array.copy(), array[1:]]) < 162_000
    assert weight("x" * 500) > 500
    assert weight(np.zeros) + weight(Memory) + weight(np) < 1000


def test_least_recently_used_goes_first_when_there_are_too_many_bytes() -> None:
    memory = Memory(90_000)
    for name in "abc":
        memory.put(name, np.zeros(3_000))
    assert memory.get("a") is not None
    memory.put("d", np.zeros(3_000))
    assert memory.get("b") is None
    assert all(memory.get(name) is not None for name in "acd")
    memory.put("large", np.zeros(9_000))
    assert memory.get("large") is None
    assert len(memory) == 3
    for number in range(500):
        memory.put(number, SimpleNamespace(held=np.zeros(number)))
        assert memory.held <= memory.most
    memory.clear()
    assert memory.held == len(memory) == 0


def test_what_grows_is_weighed_again() -> None:
    memory, growing = Memory(100_000), SimpleNamespace(nbytes=10)
    memory.put("grows", growing)
    memory.put("other", 1)
    growing.nbytes = 99_900
    memory.put("new", 2)
    assert (memory.get("grows"), memory.get("new")) == (None, 2)
    assert memory.held < 2_000


def test_one_computation_shared_by_all_who_wait() -> None:
    memory, began, go, calls = Memory(10_000), threading.Event(), threading.Event(), []

    def make() -> int:
        calls.append(1)
        began.set()
        assert go.wait(10)
        return 7

    with ThreadPoolExecutor(8) as pool:
        crowd = [pool.submit(memory.recall, "key", make) for _ in range(8)]
        assert began.wait(10)
        time.sleep(0.05)
        go.set()
        assert ([one.result(10) for one in crowd], len(calls)) == ([7] * 8, 1)


def test_after_a_failure_those_who_wait_try_for_themselves() -> None:
    memory, began, go = Memory(10_000), threading.Event(), threading.Event()

    def stopped() -> int:
        began.set()
        assert go.wait(10)
        raise KeyboardInterrupt

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(memory.recall, "key", stopped)
        assert began.wait(10)
        second = pool.submit(memory.recall, "key", lambda: 3)
        go.set()
        assert isinstance(first.exception(10), KeyboardInterrupt)
        assert second.result(10) == 3
    assert memory.recall("key", lambda: 4) == 3


def test_equal_arguments_are_computed_once_and_names_stand_for_what_they_name() -> None:
    @dataclass(frozen=True, eq=False)
    class Large(Named):
        key: str
        memory: Memory = MEMORY

    calls = []

    @remembered
    def double(large: Large, number: int = 2, *, sign: int = 1) -> int:
        calls.append(large.key)
        return sign * number

    assert [double(Large("a")), double(Large("a")), double(Large("b")), double(Large("a"), sign=-1)] == [2, 2, 2, -2]
    assert calls == ["a", "b", "a"]
    own = Memory(10_000)
    assert double(Large("c", own)) == 2
    assert len(own) == 1
    gone = Large("d")
    double(gone)
    watched = weakref.ref(gone)
    del gone
    assert watched() is None


def test_the_same_value_under_another_name_is_another_call() -> None:
    @remembered
    def share(*, taken: int = 0, kept: int = 0) -> tuple[int, int]:
        return taken, kept

    assert [share(taken=1), share(kept=1), share(taken=1, kept=0)] == [(1, 0), (0, 1), (1, 0)]


@pytest.mark.parametrize(("page", "curves"), [("compose", "curves"), ("noise", "noisecurves")])
def test_many_large_samples_stay_within_the_bound(page: str, curves: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the sample and its clipped distances only numbers are kept, and no key holds a sample."""
    MEMORY.clear()
    monkeypatch.setattr(MEMORY, "most", 3_000_000)
    values = {SOURCE.key: "weibull", COUNT.key: 100_000.0, curves: ("bayesian",), QUANTILES.key: ("q50",)}
    for seed in range(3):
        compute(page, values | {SEED.key: float(seed)})
        assert MEMORY.held <= MEMORY.most
    gc.collect()
    samples = [one for one in gc.get_objects() if type(one) is GradientSample and one.size == 100_000]
    assert sum(one.norms.nbytes for one in samples) <= MEMORY.most
    kept = [entry.value for entry in MEMORY._entries.values()]
    assert not any(hasattr(value, "ordered") for value in kept if isinstance(value, BayesianSweep))
    large = [value for value in kept if weight(value) > 700_000 and not isinstance(value, BayesianSweep)]
    assert all(isinstance(value, GradientSample | gradients.Distances | np.ndarray) for value in large), large
    MEMORY.clear()


def upload(name: str) -> Held[GradientSample]:
    sample = draw_norms("weibull", count=5_000, seed=1, shape=2.0)
    return Held(File("norms.npy", "column 1"), sample, name, Memory(1_000_000))


@pytest.mark.parametrize(("page", "curves"), [("compose", "curves"), ("noise", "noisecurves")])
def test_an_upload_goes_with_its_session(page: str, curves: str, monkeypatch: pytest.MonkeyPatch) -> None:
    held = upload(f"of {curves}")
    values = {SOURCE.key: "upload", curves: ("bayesian",), QUANTILES.key: ("q50",)}
    monkeypatch.setattr(sources, "resolved", lambda _, held=held: held)
    first = compute(page, values)
    assert len(held.memory) > 0
    watched = weakref.ref(held)
    numbers = weakref.ref(held.sample().norms)
    monkeypatch.undo()
    del held, first
    gc.collect()
    assert watched() is None
    assert numbers() is None


def test_sessions_end_some_time_after_their_visitor_left(monkeypatch: pytest.MonkeyPatch) -> None:
    here, sessions = {"stays"}, Mock()
    sessions.is_active_session = here.__contains__
    monkeypatch.setattr(server, "_visited", dict.fromkeys(("stays", "leaves", "comes back")))
    look = partial(server.end, sessions)
    assert look(0.0) == 0
    assert look(server.AWAY - 1.0) == 0
    here.add("comes back")
    assert look(server.AWAY - 0.5) == 0
    here.remove("comes back")
    assert look(server.AWAY) == 1
    sessions.close_session.assert_called_once_with("leaves")
    assert set(server._visited) == {"stays", "comes back"}


SMALL = {
    *["float", "int", "bool", "str", "None", "Mechanism", "SampledGaussian", "Shape", "torch.dtype"],
    "tuple[float, float]",
}
# Of the processes that train, or one fixed value each.
LARGE_BUT_FEW = {"_loaded", "_read", "mnist_subset", "_filters", "basis"}


def caches(text: str) -> Iterator[tuple[ast.FunctionDef, str]]:
    """Functions with a cache of the standard library, or of Streamlit's, and the decorator as it is written."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            for decorator in map(ast.unparse, node.decorator_list):
                if re.match(r"(functools\.)?(lru_cache|cache)\b|st\.cache", decorator):
                    yield node, decorator


def growing(text: str) -> list[str]:
    """Caches in a source that are not bounded by few entries of small values."""
    found = []
    for node, decorator in caches(text):
        hints = [node.returns, *(one.annotation for one in (*node.args.args, *node.args.kwonlyargs))]
        kinds = {kind.strip() for hint in hints if hint is not None for kind in ast.unparse(hint).split("|")}
        entries = re.search(r"maxsize=(\d+)", decorator)
        bounded = entries is not None and int(entries[1]) <= 4096
        if len(hints) == 1:  # one value, made once
            continue
        large = node.name in LARGE_BUT_FEW and int(entries[1]) <= 2 if entries else False
        if not bounded or not (kinds <= SMALL or large):
            found.append(node.name)
    return found


def test_every_other_cache_holds_a_bounded_number_of_small_values() -> None:
    """A cache that counts entries may hold numbers and short texts, by numbers and short texts; else `remembered`."""
    sources = {path: path.read_text() for path in (ROOT / "dpviz").rglob("*.py") if "cache" in path.read_text()}
    assert sum(len(list(caches(text))) for text in sources.values()) > 5
    assert {str(path): found for path, text in sources.items() if (found := growing(text))} == {}
    signature = "\ndef f(x: float) -> "
    assert growing("@lru_cache(maxsize=9)" + signature + "float: ...") == []
    for text in ("@cache" + signature + "float: ...", "@st.cache_data" + signature + "float: ..."):
        assert growing(text) == ["f"]
    assert growing("@functools.lru_cache(maxsize=9)" + signature + "Array: ...") == ["f"]


def test_points_of_mixtures_push_no_answer_out() -> None:
    """Each σ of a varying noise has its own: they once took all the room, and answers were computed again and again."""
    before = MEMORY.held
    for sigma in np.linspace(0.5, 0.9, 20).tolist():
        replaced_divergence(sigma, 0.01, np.array([2.0, 8.0]))
    assert MEMORY.held - before < 200_000

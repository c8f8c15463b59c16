"""Processes beside the app: what they load and make, and that the app outlives them and they not the app."""

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from pathlib import Path
from types import ModuleType

import psutil
import pytest

from dpviz._remember import MEMORY, MOST
from dpviz.questions import frames
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.layout import of_texts
from dpviz.ui import answers
from dpviz.ui.browser import frames as of_sessions
from dpviz.ui.browser import pool as pools
from dpviz.ui.browser.pool import COUNT, SHORT, ProcessPool
from tests.ui.driver import open_app, tokens

ROOT = Path(__file__).parents[2]


def wait_for(pool: ProcessPool) -> None:
    while not pool.there:
        time.sleep(0.05)


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProcessPool]:
    made = ProcessPool()
    for module in (pools, of_sessions, answers):
        monkeypatch.setattr(module, "pool", made)
    monkeypatch.setattr(pools, "STEADY", 0.0)
    with pytest.raises(BrokenExecutor):
        made.submit(os.getpid)
    made.begin()
    wait_for(made)
    yield made
    made.end()
    with pytest.raises(BrokenExecutor):
        made.submit(os.getpid)


@pytest.mark.sweep
def test_they_make_the_same_frames_and_slow_parts_and_one_that_ends_is_replaced(pool: ProcessPool) -> None:
    opened = [  # their offers go with them
        open_app(place, query)
        for place, query in (
            ("compose", "q=0.0123456789012345&mech=laplace&b=3.3&curves=renyi_improved.tight"),
            ("compose", "curves=moments.bayesian.tight&sigma=1.7&quantile=0.3"),
            ("noise", "noiseview=solve&delta=3e-6"),
            ("budget", "bview=policy&epochs=12"),
            ("langevin", ""),
            ("compose", "pin=sigma%3D3"),
        )
    ]
    recipes = [of_sessions.find_offer(token).recipe for at in opened[:-1] for token in tokens(at).values()]
    pinned = tokens(opened[-1])["sigma"]
    assert not of_sessions.find_offer(pinned).recipe.plain

    def made(recipe: of_sessions.Recipe, text: str, *parts: tuple[int, object, object]) -> frames.Packed:
        sweep = recipe.sweep
        assert recipe.plain
        assert isinstance(sweep.show, frames.Alone)
        asked = (sweep.question.key, sweep.moved.key, sweep.others, sweep.show.slide, text, parts)
        return pool.submit(frames.made_of_values, *asked).result()

    MEMORY.clear()  # and slow parts with it, which the other process does not know
    for recipe in recipes:
        moved = recipe.sweep.moved
        text = moved.write(moved.ticks[len(moved.ticks) // 2])
        assert made(recipe, text) == recipe.sweep.packed(text)
    solved = next(one for one in recipes if one.sweep.question.key == "solve")
    before = made(solved, "3")
    for part in solved.sweep.frame("3")[1].missing:
        answers.start(*part).result()
    finished = frames.finished_parts(solved.sweep.question, before.missing)
    assert made(solved, "3", *finished) == solved.sweep.packed("3") != before
    question = QUESTIONS["langevin_cost"]
    answer = answers.compute(question, of_texts({"steps": "97"}))
    for part, slow in zip(answers.joined("langevin", question, answer).missing, question.slow, strict=True):
        assert pickle.dumps(part.work()) == pickle.dumps(slow.work(answer))
    os.kill(pool.submit(os.getpid).result(), signal.SIGKILL)
    with pytest.raises(BrokenExecutor):
        pool.submit(time.sleep, 60.0).result()
    wait_for(pool)
    assert made(recipes[0], "3").kept


def test_slow_parts_and_frames_do_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    question = QUESTIONS["langevin_cost"]
    answer = answers.compute(question, of_texts({"steps": "98"}))
    part, *_ = answers.joined("langevin", question, answer).missing
    assert pickle.dumps(part.work()) == pickle.dumps(question.slow[0].work(answer))


@pytest.mark.sweep
def test_they_load_neither_streamlit_nor_pytorch_nor_the_program_that_runs(
    pool: ProcessPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = ModuleType("__main__")
    program.__file__ = str(ROOT / "app.py")
    monkeypatch.setitem(sys.modules, "__main__", program)
    pool.end()
    pool.begin()
    assert sys.modules["__main__"] is program
    wait_for(pool)
    question = QUESTIONS["compose"]
    values = {field.key: field.default for field in question.fields}
    assert pool.submit(frames.made_of_values, question.key, "sigma", values, False, "2").result().kept
    loaded = "sorted({'streamlit', 'torch', 'distributed'} & {*__import__('sys').modules})"
    assert pool.submit(eval, loaded).result() == []
    file = "getattr(__import__('sys').modules['__main__'], '__file__', '')"
    assert pool.submit(eval, file).result() != program.__file__


def test_each_keeps_less_than_the_app(pool: ProcessPool) -> None:
    most = pool.submit(eval, "__import__('dpviz._remember')._remember.MEMORY.most").result()
    assert most == pools.REMEMBERED < MOST


def test_a_pool_that_cannot_start_is_not_started_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[ProcessPool] = []
    begin = ProcessPool.begin
    monkeypatch.setattr(ProcessPool, "begin", lambda one: (begun.append(one), begin(one)))
    monkeypatch.setattr(pools, "_begin", eval)  # fails for want of an argument
    made = ProcessPool()
    made.begin()
    while made._latest is not None:
        time.sleep(0.05)
    assert len(begun) == SHORT
    assert not made.there


def test_they_end_with_the_app_even_if_it_is_killed() -> None:
    code = "from dpviz.ui.browser.pool import pool\nimport time\npool.begin()\nprint(flush=True)\ntime.sleep(600)"
    app = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE)
    assert app.stdout is not None
    app.stdout.readline()
    children = psutil.Process(app.pid).children()
    assert len(children) >= COUNT
    app.kill()
    app.wait()
    app.stdout.close()
    assert not psutil.wait_procs(children, timeout=120.0)[1]


# 160 MB in small pieces, freed but for the last one, which keeps the C library from giving them back.
FREED = """
import sys
import numpy as np
pieces = [np.ones(1_000) for _ in range(20_000)]
sys.kept = pieces.pop()
del pieces
sum(range(20_000_000))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's own function does it")
def test_a_process_gives_back_what_it_has_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "COUNT", 1)
    pool = ProcessPool()
    pool.begin()
    try:
        wait_for(pool)
        process = psutil.Process(pool.submit(os.getpid).result())
        before = process.memory_info().rss
        pool.submit(exec, FREED, {}).result()
        end = time.monotonic() + 60.0
        while process.memory_info().rss > before + 40e6:
            assert time.monotonic() < end, "it keeps what nobody needs"
            time.sleep(0.1)
    finally:
        pool.end()

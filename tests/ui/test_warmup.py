"""Which frames are made before visitors ask for them."""

import asyncio
import gc
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, groupby, repeat

import pytest

from dpviz._remember import Memory
from dpviz.ui.browser import frames, warmup
from dpviz.ui.browser.pool import pool
from tests.ui.driver import open_app, tokens


def test_what_is_made_ahead_is_what_the_first_visitor_asks_for() -> None:
    wanted = {(recipe.name, recipe.sweep.moved.key) for recipe, _ in warmup.first_pages()}
    for page in ("compose", "orders", "attack", "noise", "budget", "langevin"):
        at = open_app(page)
        offered = tokens(at)
        names = {frames.find_offer(token).recipe.name for token in offered.values()}
        assert len({key for name, key in wanted if name in names}) == warmup.SLIDERS, page


def test_frames_around_each_page_are_made_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a session that ended not at all, and none while somebody waits."""
    monkeypatch.setattr(warmup, "_pages", OrderedDict())
    monkeypatch.setattr(warmup, "NEAR", 12)
    monkeypatch.setattr(frames, "kept_frames", Memory(2**20))
    older, newer = (open_app("compose", f"curves=moments&sigma={sigma}&units=mechanism") for sigma in (2, 3))
    monkeypatch.setattr(type(pool), "there", True)
    assert warmup.next_frame(iter(())) is None, "just asked"
    monkeypatch.setattr(warmup, "_asked", time.monotonic() - 1.0)

    def prepared(count: int) -> list[tuple[str, str]]:
        made = []
        for _ in range(count):
            recipe, text = warmup.next_frame(iter(())) or pytest.fail("nothing to make")
            assert recipe in {
                frames.find_offer(token).recipe for page in (older, newer) for token in tokens(page).values()
            }
            made.append((recipe.sweep.moved.key, text))
        return made

    assert prepared(6) == [
        ("sigma", "2"),
        ("sigma", "3"),
        ("q", "0.01"),
        ("q", "0.01"),
        ("steps", "10000"),
        ("steps", "10000"),
    ]
    newer = older
    gc.collect()
    assert prepared(3) == [("sigma", "1.8"), ("sigma", "2.2"), ("q", "0.012")]
    with monkeypatch.context() as crowded:
        crowded.setattr(frames, "waited_for", lambda: True)
        assert warmup.next_frame(iter(())) is None
    every = {key: frames.find_offer(token).recipe.sweep.moved for key, token in tokens(older).items()}
    ticks = {(key, every[key].write(tick)) for key in ("sigma", "q", "steps") for tick in every[key].ticks}
    prepared(12 - 6)
    far = prepared(len(ticks))
    assert set(far) == ticks
    assert [key for key, _ in groupby(far, key=lambda each: each[0])] == ["sigma", "q", "steps"]
    assert warmup.next_frame(iter(())) is None


@pytest.mark.parametrize(("pages", "rest"), [({}, warmup.REST_OF_CROWDED), ({1: iter([])}, warmup.REST_BESIDE)])
def test_where_a_visitor_looks_a_crowd_is_looked_at_again_soon(
    monkeypatch: pytest.MonkeyPatch, pages: dict[int, Iterator[tuple[str, str]]], rest: float
) -> None:
    rests: list[float] = []

    async def crowded() -> bool:
        return True

    async def sleep(seconds: float) -> None:
        rests.append(seconds)
        raise asyncio.CancelledError

    monkeypatch.setattr(warmup, "_crowded", crowded)
    monkeypatch.setattr(warmup, "_pages", pages)
    monkeypatch.setattr(warmup, "next_frame", lambda _: ("recipe", "text"))
    monkeypatch.setattr(warmup.asyncio, "sleep", sleep)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(warmup.warm_up())
    assert rests == [rest]


def test_while_another_program_wants_the_cores_nothing_is_made_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    crowded = chain([True, False, True], repeat(False))

    async def looked() -> bool:
        begun.append("look")
        return next(crowded)

    async def made() -> None:
        begun.append("frame")

    monkeypatch.setattr(warmup, "_crowded", looked)
    for rest in ("REST_OF_CROWDED", "REST_BESIDE"):
        monkeypatch.setattr(warmup, rest, 0.0)
    monkeypatch.setattr(warmup, "LOOK_AROUND", -1.0)
    monkeypatch.setattr(warmup, "COUNT", 1)
    monkeypatch.setattr(warmup, "next_frame", lambda _: ("recipe", "text"))
    monkeypatch.setattr(frames, "begun", lambda *_: asyncio.ensure_future(made()))

    async def some() -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(warmup.warm_up(), 0.2)

    asyncio.run(some())
    assert begun[:6] == ["look", "look", "frame", "look", "look", "frame"]

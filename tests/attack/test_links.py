"""A seeded part of the attack by links; the app itself opens some of them."""

import math
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpviz._remember import MEMORY
from dpviz.fields.field import Number
from dpviz.runs.engine import engine
from tests.ui.driver import open_app
from tools.attack import links


def test_every_field_makes_something_legal_of_every_text() -> None:
    for field in links.ALL.values():
        for text in links.texts(field):
            value = field.nearest(text)
            assert field.parse(field.write(value)) == value, (field.key, text)
            assert not isinstance(field, Number) or math.isfinite(value) or field.top, (field.key, text)


@pytest.mark.parametrize("page", links.PAGES)
@pytest.mark.sweep
def test_links_of_one_field_and_whole_ones(page: str) -> None:
    rng = random.Random(page)
    several = [next(link for link in links.whole(rng) if link[0] == page) for _ in range(5)]
    views = rng.sample(shown := links.views(page), min(len(shown), 4))  # to ask all what they read takes longest
    some = rng.sample(links.each_field((page,), lambda _: views), 20) + several
    found = links.attack(some, count=len(some), each=60.0)
    assert not found.broken, (found.broken, found.examples)
    assert found.files == len(some)


def test_what_breaks_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "compute", lambda *_: 1 // 0)
    assert links.attack([("orders", "q=0.1")], count=1).broken.total() == 1
    monkeypatch.undo()
    monkeypatch.setattr(links, "NO_WORD", links.re.compile("ε"))
    assert links.attack([("orders", "q=0.1")], count=1).broken.total() == 1


class TestInTheApp:
    @pytest.fixture(autouse=True)
    def own_home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.setenv("DPVIZ_HOME", str(tmp_path))
        MEMORY.clear()
        monkeypatch.setattr("dpviz.ui.browser.slow_parts.offer", lambda *_: "")  # what is slow is not asked for here
        monkeypatch.setattr("dpviz.ui.measuring.missing", list)
        yield
        engine().shutdown()

    @pytest.mark.parametrize("page", ["home", "runs", *links.PAGES])
    @pytest.mark.sweep
    def test_whole_links(self, page: str) -> None:
        rng = random.Random(f"app {page}")
        for _ in range(2):
            _, query = next(links.whole(rng))
            open_app(page, query)  # which fails where there is a traceback

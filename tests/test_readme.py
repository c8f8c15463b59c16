"""The README's example runs and gives the numbers it states; its picture is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_example_gives_the_stated_numbers() -> None:
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert code is not None
    found: dict[str, object] = {}
    exec(code[1], found)
    assert found["moments"] == pytest.approx(1.2586, abs=5e-5)
    assert found["best"] == pytest.approx(0.5505, abs=5e-5)
    assert found["alone"] == pytest.approx(0.7788, abs=5e-5)
    assert found["renyi"].shape == (3,)


def test_the_picture_is_there_and_small() -> None:
    picture = re.search(r"!\[.+\]\((.+\.png)\)", README)
    assert picture is not None
    assert 10_000 < (ROOT / picture[1]).stat().st_size < 250_000

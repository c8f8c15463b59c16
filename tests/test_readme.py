"""The README's example runs and gives the numbers it states; its picture is there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dpviz.training.data.own.describe import described
from dpviz.training.data.own.read import read

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


def test_the_worked_example_of_one_s_own_data_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    section = README[README.index("## Data sets of one's own") :]
    shell = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
    assert shell is not None
    home = {
        **os.environ,
        "HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    subprocess.run(["sh", "-ec", shell[1]], env=home, check=True, timeout=60)
    found = read(described(tmp_path / "dpviz-data/tea.toml"))
    assert found.train_x.shape == (1600, 4)
    assert 0.2 < found.train_y.mean() < 0.8
    for at, kind in enumerate(("npz", "images")):
        (tmp_path / f"{kind}.toml").write_text(re.findall(r"```toml\n(.*?)```", section, re.DOTALL)[at])
        assert described(tmp_path / f"{kind}.toml").kind == kind

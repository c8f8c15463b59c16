"""The pure parts of the browser's scripts, tried by node: each file beside this one, with cases that Python shares."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpviz.charts.browser import SCRIPTS
from dpviz.charts.browser.pack import Packer
from dpviz.charts.marks import Band, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.ui.browser.routes import OURS

HERE = Path(__file__).parent
NODE = shutil.which("node")
FILES = sorted(HERE.glob("*.test.js"))
X = np.geomspace(1.0, 1e4, 60)


def figures() -> list[dict[str, Any]]:
    """Charts as the server draws and packs them: their names stand beside the plot, within it, apart and below each
    other."""
    rising = [Line(f"k{k}", f"curve {k}", X, (1 + k / 50) * np.sqrt(X), "moments") for k in range(4)]
    short = Line("s", "short", X[:30], X[:30], "bayesian")
    falling = Line("f", "falling", X[:40], 3e3 / X[:40], "strong")
    nearly = Line("n", "nearly", np.append(X[:-1], 0.995e4), 0.9 * np.sqrt(X), "renyi_improved")
    beyond = Line("b", "beyond", X, 1e9 * X, "basic")
    band = Band("tight", X, 0.4 * np.sqrt(X), 0.5 * np.sqrt(X))
    built = []
    for log, reading in ((False, None), (True, None), (False, "attack")):
        x, y = Axis("steps T", log=log, kind="steps"), Axis("ε", log=log, reading=reading)  # type: ignore[arg-type]
        lines = (*rising, short, falling, nearly, *([] if log else [beyond]))
        built.append(LinePlot(x, y, lines, bands=(band,)).chart().figure)
    return built


def cases() -> dict[str, Any]:
    packer, plain = Packer(), figures()
    return {
        "typed": json.loads((HERE.parent / "fields" / "typed.json").read_text()),
        "figures": plain,
        "packed": [packer.figure(figure) for figure in plain],
        "columns": packer.columns,
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts, the tests and their cases in one folder, as modules of node."""
    if NODE is None:
        assert "CI" not in os.environ, "node is not installed, and where CI is set the scripts are tried."
        pytest.skip("node is not installed: the browser's scripts are tried in browsers alone.")
    place = tmp_path_factory.mktemp("js")
    for file in (*OURS.values(), *FILES, HERE / "elements.js"):
        shutil.copy(file, place)
    named = place / "node_modules" / "dpviz"  # as a page that is handed out names them; without its chart
    named.mkdir(parents=True)
    for file in SCRIPTS.values():
        shutil.copy(file, named)
    (named / "chart.js").write_text("export default (props) => globalThis.charts.push(props.data);")
    (named / "package.json").write_text('{"type": "module"}')
    (place / "package.json").write_text('{"type": "module"}')
    (place / "cases.json").write_text(json.dumps(cases()))
    return place


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_scripts(file: Path, folder: Path) -> None:
    command = [str(NODE), "--test", file.name]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "# fail 0" in ran.stdout or "fail 0" in ran.stdout
    assert "# tests 0" not in ran.stdout

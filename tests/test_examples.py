"""Every program of examples/ runs by itself, is short, and prints what it promises."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Program → what its output must hold.
PROGRAMS = {
    "account": r"tight    ε ≤ 2\.385\nNo accountant can prove less than ε = 2\.379",
    "noise_for_a_target": r"tight    σ = 0\.9693 is enough",
    "own_network": r"step  60 of 60: ε ≤ 3\.000\n9\d\.\d% .*not covered by ε.\non condition: ",
    "own_accountant": r"q = 1\.0 : concentrated ε ≤ 2\.524, exact ε ≤ 1\.993",
    "ask_a_question": r"After 10\W000 steps",
}


def test_all_examples_are_tried_and_named_in_the_docs() -> None:
    assert {file.stem for file in (ROOT / "examples").glob("*.py")} == set(PROGRAMS)
    told = (ROOT / "docs" / "index.md").read_text("utf-8")
    assert all(f"examples/{name}.py" in told for name in PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    file = ROOT / "examples" / f"{name}.py"
    assert 10 <= len(file.read_text("utf-8").splitlines()) <= 40
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    ran = subprocess.run(
        [sys.executable, file], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    assert re.search(PROGRAMS[name], ran.stdout), ran.stdout

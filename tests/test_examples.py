"""Every program of examples/ runs by itself, is short, and prints what it promises."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Program → what its output must hold.
PROGRAMS = {
    "account": r"tight    ε ≤ 2\.385\nNo accountant can prove less than ε = 2\.379",
    "noise_for_a_target": r"tight    σ = 0\.9693 is enough",
    "own_network": r"step  60 of 60: ε ≤ 3\.000\n9\d\.\d% .*not covered by ε.\non condition: ",
    "own_accountant": r"q = 1\.0 : concentrated ε ≤ 2\.524, exact ε ≤ 1\.993",
    "watch_opacus": r"Opacus, RDP: ε = (\d\.\d+); PLD, as told by the program: ε ≤ \d\.\d+",
    "ask_a_question": r"After 10\W000 steps",
}


def test_all_examples_are_tried_and_named_in_the_docs() -> None:
    assert {file.stem for file in (ROOT / "examples").glob("*.py")} == set(PROGRAMS)
    told = (ROOT / "docs" / "index.md").read_text("utf-8")
    assert all(f"examples/{name}.py" in told for name in PROGRAMS)


@pytest.mark.filterwarnings("ignore:Secure RNG turned off", "ignore:Full backward hook is firing")
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_example_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = ROOT / "examples" / f"{name}.py"
    if name == "watch_opacus":
        pytest.importorskip("opacus", reason="comes with the tools for development")
        monkeypatch.setenv("DPVIZ_HOME", str(tmp_path))
    assert 10 <= len(file.read_text("utf-8").splitlines()) <= 40
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(file), run_name="__main__")
    printed = capsys.readouterr().out
    assert re.search(PROGRAMS[name], printed), printed

"""Every program of examples/ runs by itself, is short, and prints what it promises."""

import json
import re
import runpy
from pathlib import Path

import pytest

import dpviz
from dpviz.__main__ import main
from dpviz.runs.claims import claim_of_record
from dpviz.runs.store.store import open_store
from dpviz.runs.views import view_now

ROOT = Path(__file__).resolve().parents[1]
# Program → what its output must hold.
PROGRAMS = {
    "audit_own_network": r"Claimed: ε ≤ 3\.\d\d\d\. Shown by 100 runs a side: ε ≥ \d",
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


def test_the_shell_audits_the_example(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["audit", "examples/audit_own_network.py:training", "--runs", "20", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["training"] == "examples/audit_own_network.py:training"
    assert row["claimed ε"].startswith("3.")
    assert float(row["both counts"].removeprefix("≥ ")) < float(row["claimed ε"])


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


@pytest.mark.filterwarnings("ignore:Secure RNG turned off", "ignore:Full backward hook is firing")
def test_opacus_own_epsilon_stands_beside_the_numerical_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opacus", reason="comes with the tools for development")
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path))
    runpy.run_path(str(ROOT / "examples" / "watch_opacus.py"))
    store = open_store(tmp_path)
    (record,) = store.runs()
    steps, plan = view_now(store, record.id).steps, {"noise_multiplier": 1.1, "sample_rate": 0.05, "steps": 40}
    assert (record.state, record.steps) == ("done", 40)
    renyi, numerical = (dpviz.epsilon(method, delta=1e-5, **plan) for method in ("rdp", "pld"))
    assert steps["epsilon.renyi"][-1] == pytest.approx(renyi, rel=1e-12)
    assert renyi <= steps["reported_epsilon"][-1] <= 1.02 * renyi  # fewer orders than ours
    claim = claim_of_record(record, store)
    assert (claim.epsilon, claim.as_told) == (numerical, True)

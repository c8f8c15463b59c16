"""The list of planted faults cannot rot: each still has its place in the code, and its test."""

import ast
import tomllib
from pathlib import Path

import pytest

from benchmarks.evidence._faults import FAULTS, Fault

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_can_still_be_planted(fault: Fault) -> None:
    source = (ROOT / fault.file).read_text(encoding="utf-8")
    assert source.count(fault.old) == 1
    assert fault.new != fault.old
    if parse := {".toml": tomllib.loads, ".py": ast.parse}.get(Path(fault.file).suffix):  # node reads the others
        parse(source.replace(fault.old, fault.new))
    for test in fault.test.split():
        path, *names = test.split("::")
        defined = {
            node.name
            for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
            if isinstance(node, (ast.FunctionDef, ast.ClassDef))
        }
        assert set(names) <= defined


def test_every_fault_has_a_name_of_its_own() -> None:
    assert len({fault.name for fault in FAULTS}) == len({fault[1:4] for fault in FAULTS}) == len(FAULTS)

"""What has to be installed before a run can be computed, and the command that installs it."""

import importlib.util
from importlib.machinery import ModuleSpec

import pytest

from dpviz.runs.cluster.connection import ADDRESS_VARIABLE, lacking


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Packages that are not found; nothing else changes."""
    names: set[str] = set()
    find_spec = importlib.util.find_spec

    def without(name: str) -> ModuleSpec | None:
        return None if name in names else find_spec(name)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    monkeypatch.delenv(ADDRESS_VARIABLE, raising=False)
    return names


def test_nothing_is_lacking_with_both_extras(absent: set[str]) -> None:
    assert lacking() == ""


@pytest.mark.parametrize("package", ["torch", "PIL", "distributed", "cryptography"])
def test_each_package_of_the_extra_is_named(package: str, absent: set[str]) -> None:
    absent.add(package)
    assert lacking().endswith(f"need {package}, which is not installed here: pip install 'dpviz[train]'.")


def test_all_that_is_absent_stands_in_one_sentence(absent: set[str]) -> None:
    absent |= {"torch", "distributed", "cryptography"}
    assert "need torch, distributed and cryptography, which are not installed here: " in lacking()


def test_an_environment_without_pip_is_told_another_command(absent: set[str]) -> None:
    absent |= {"torch", "pip"}
    assert lacking().endswith("need torch, which is not installed here: uvx --from 'dpviz[app,train]' dpviz app.")


def test_workers_elsewhere_have_their_own_pytorch(absent: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ADDRESS_VARIABLE, "tcp://192.0.2.1:8786")
    absent.add("torch")
    assert lacking() == ""
    absent.add("distributed")
    assert "distributed" in lacking()

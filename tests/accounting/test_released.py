"""What was released, was reserved and charged: there is no other way to a `Released`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dpviz
from dpviz.accounting.adaptive.filter import BudgetExceeded, Filter
from dpviz.accounting.adaptive.policies import (
    AdaptiveBatch,
    AdaptiveNoise,
    FineTuning,
    Fixed,
    Released,
    Setting,
    Spending,
    release,
)
from tests.accounting.released_counts import released

COUNT = dpviz.SampledGaussian(100.0)
ROOT = Path(__file__).parents[2]


class Book:
    """Notes what happens to it, in order."""

    def __init__(self, refuses: bool = False) -> None:
        self.refuses = refuses
        self.happened: list[str] = []

    def reserve(self, mechanism: dpviz.SampledGaussian) -> None:
        self.happened.append("reserved")
        if self.refuses:
            raise BudgetExceeded(mechanism, 1, 0, 1.0)

    def count(self, mechanism: dpviz.SampledGaussian) -> None:
        self.happened.append("charged")

    def standard_normal(self) -> float:
        self.happened.append("drew")
        return 0.5

    def look(self) -> float:
        self.happened.append("looked")
        return 9_000.0

    def release(self) -> Released:
        return release(self.look, mechanism=COUNT, account=self, random=self)  # type: ignore[arg-type]


def test_reserve_draw_charge_and_only_then_look() -> None:
    book = Book()
    found = book.release()
    assert book.happened == ["reserved", "drew", "charged", "looked"]
    assert (found.value, found.mechanism) == (9_050.0, COUNT)


def test_what_is_refused_is_not_looked_at() -> None:
    book = Book(refuses=True)
    with pytest.raises(BudgetExceeded):
        book.release()
    assert book.happened == ["reserved"]


def test_the_noise_is_the_mechanism_s() -> None:
    random, budget = np.random.default_rng(1), Filter(target_epsilon=100.0, delta=1e-5)
    paid = {"mechanism": dpviz.SampledGaussian(50.0), "account": Spending(budget), "random": random}
    noise = np.array([release(lambda: 4000.0, **paid).value - 4000.0 for _ in range(4000)])  # type: ignore[arg-type]
    assert abs(noise.mean()) < 5 * 50 / np.sqrt(4000)
    assert abs(noise.std() - 50.0) < 5 * 50 / np.sqrt(8000)
    assert budget.events == ((dpviz.SampledGaussian(50.0), 4000),)


def test_a_sampled_mechanism_is_refused() -> None:
    with pytest.raises(ValueError, match="Expected sample_rate=0.5"):
        release(lambda: 1.0, mechanism=dpviz.SampledGaussian(1.0, 0.5), account=Book(), random=np.random.default_rng(0))


@pytest.mark.parametrize("maker", [None, object(), Released])
def test_nobody_else_makes_one(maker: object) -> None:
    with pytest.raises(TypeError, match="release"):
        Released(9_000.0, COUNT, maker)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        type("Peek", (Released,), {})
    found = released(1.0)
    with pytest.raises(AttributeError):
        found.value = 2.0  # type: ignore[misc]


@pytest.mark.parametrize("kind", [Fixed, AdaptiveNoise, AdaptiveBatch, FineTuning])
def test_policies_take_nothing_else(kind: type) -> None:
    policy = kind(Setting(2.0, 512))
    for peeked in (9_000.0, 9_000, np.float64(9_000.0)):
        with pytest.raises(TypeError, match="Expected a Released count"):
            policy.observe(peeked)
    with pytest.raises(ValueError, match="Expected a count released by"):
        policy.observe(released(9_000.0, noise=1e-9))


def test_no_module_takes_the_maker() -> None:
    users = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "dpviz").rglob("*.py"))
        if re.search(r"\b_MAKER\b|\b_Maker\b", path.read_text(encoding="utf-8"))
    ]
    assert users == [str(Path("dpviz/accounting/adaptive/policies.py"))]


def test_peeking_is_a_type_error(tmp_path: Path) -> None:
    """mypy refuses a plain number, and a `Released` made by hand; it reads the one module alone, which is quick."""
    source = tmp_path / "peek.py"
    source.write_text(
        "from dpviz.accounting.adaptive.policies import AdaptiveNoise, Released, Setting\n"
        "def look(made: Released, mechanism: object) -> None:\n"
        "    policy = AdaptiveNoise(Setting(1.0, 512))\n"
        "    policy.observe(made)\n"
        "    policy.observe(9_000.0)\n"
        "    Released(9_000.0, mechanism)\n"
        "    Released(9_000.0, mechanism, None)\n"
    )
    command = [sys.executable, "-m", "mypy", "--follow-imports=skip", "--no-error-summary", f"--cache-dir={tmp_path}"]
    run = subprocess.run(
        [*command, source, ROOT / "dpviz/accounting/adaptive/policies.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [re.search(r"peek.py:(\d+): error: .*\[(.*)\]", line) for line in run.stdout.splitlines()]
    assert [found.groups() for found in lines if found] == [("5", "arg-type"), ("6", "call-arg"), ("7", "arg-type")]

"""A seeded part of the attack by mutated uploads."""

import pytest

from tools.attack import uploads


def test_mutants_are_refused_or_harmless() -> None:
    found = uploads.attack(count=150, seed=5, seconds=10.0)
    assert not found.broken, found.broken
    assert min(found.refused, found.harmless) > 10


def test_what_breaks_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "read_distances", lambda *_: 1 // 0)
    assert uploads.attack(count=20, seed=1).broken.total() > 0

"""Pages in tests do not wait for a hand to rest: what is measured starts at once."""

import pytest

from dpviz.ui import measuring


@pytest.fixture(autouse=True)
def no_settling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "SETTLE", 0.0)

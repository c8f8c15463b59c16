"""Pages in tests do not wait for a hand to rest: the slow part starts at once."""

import pytest

from dpviz.ui import background


@pytest.fixture(autouse=True)
def no_settling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_SETTLE_SECONDS", 0.0)

"""Errors for an unknown that has no solution, with texts for a message and for a page (`no_answer.toml`)."""

import tomllib
from pathlib import Path
from typing import Any


class NoAnswer(ValueError):
    """No value of the unknown will do; `why` says it in few words, for a page."""

    def __init__(self, message: str, why: str = "") -> None:
        super().__init__(message)
        self.why = why


_TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def no_answer(key: str, **values: Any) -> NoAnswer:
    """The error of this key of the table, with its values."""
    return NoAnswer(*(_TEXTS[key].get(part, "").format(**values) for part in ("message", "why")))

"""JSON text of events: NaN and infinities become strings, which every reader of JSON accepts.

>>> write({"loss": [0.5, float("nan")]})
'{"loss":[0.5,"NaN"]}'
>>> read(write({"loss": [0.5, float("inf")]}))
{'loss': [0.5, inf]}
"""

import json
import math
from typing import Any

WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}  # of numbers that JSON lacks


def _worded(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _worded(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_worded(entry) for entry in value]
    return value


def _numbered(value: Any) -> Any:
    if isinstance(value, str):
        return WORDS.get(value, value)
    if isinstance(value, dict):
        return {key: _numbered(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_numbered(entry) for entry in value]
    return value


def write(value: Any) -> str:
    """Strict JSON of dicts, lists, texts, numbers, booleans and None.

    Raises:
        TypeError: for anything else.
    """
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    except ValueError:
        return json.dumps(_worded(value), allow_nan=False, separators=(",", ":"), ensure_ascii=False)


def strict(value: Any) -> Any:
    """The value as a reader of JSON sees it that knows no words for numbers."""
    return json.loads(write(value))


def read(text: str) -> Any:
    """The value that `write` wrote as this text."""
    value = json.loads(text)
    if '"NaN"' in text or 'Infinity"' in text:
        return _numbered(value)
    return value

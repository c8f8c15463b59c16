"""What a file holds, checked piece by piece: each check returns the value or says what was expected and found.

>>> whole(1, 10)("steps of the run", 7)
7
>>> table({"step": whole(0, 9)}, {"text": text(20)})("event 3", {"step": 2, "unheard": []})
{'step': 2}
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np

Check = Callable[[str, Any], Any]

# A file of a hundred bytes can ask for a gigabyte; these bound what is made of one before anything is.
LARGEST = 64 * 1024 * 1024  # bytes: 50,000 steps with all their columns are 15 MB, 300,000 distances 6 MB
MOST_VALUES = 2_000_000  # commas and brackets: Python takes some 50 to 150 bytes for each value
MOST_NESTED = 40  # brackets in brackets: runs need eight, and Python's reader can end the whole process at thousands
LARGEST_NUMBER = 1e39  # single precision, which trains, holds nothing larger
LARGEST_WHOLE = 2**53  # beyond it a float misses whole numbers

# JSON has no such numbers; `dpviz.runs.store.jsontext` writes them as these words.
WORDS_OF_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class NotARun(ValueError):
    """The file is no exported run; the message says why."""


def expect(right: bool, what: str) -> None:
    """Refuse the file, saying what was expected, unless that is so."""
    if not right:
        raise NotARun(f"Expected {what}.")


def refuse(what: str, wanted: str, value: Any) -> NoReturn:
    raise NotARun(f"Expected {what} {wanted}, found {shown(value)}.")


def shown(value: Any) -> str:
    """A value as a message quotes it: never long, whatever it is."""
    if isinstance(value, (list, dict)):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST_WHOLE:
        return f"a whole number of {value.bit_length()} bits"  # Python refuses to write very long ones
    return ascii(value)[:60]


def parsed(content: bytes) -> Any:
    """The JSON in a file, once its size allows to read it; numbers that JSON lacks are still words.

    Raises:
        NotARun: if it is too large, no JSON, nested too deeply or names a thing twice.
    """
    size = len(content)
    expect(size <= LARGEST, f"a file of at most {LARGEST // 2**20} MB, found {size // 2**20} MB")
    values = sum(content.count(mark) for mark in (b",", b"[", b"{"))
    expect(values <= MOST_VALUES, f"at most {MOST_VALUES:,} values in the file, found about {values:,}")
    flat = _nested(content) <= MOST_NESTED
    expect(flat, f"at most {MOST_NESTED} brackets in brackets; this is no JSON of a run")
    try:
        return json.loads(content.decode("utf-8-sig"), object_pairs_hook=_each_once)
    except NotARun:
        raise
    except (ValueError, RecursionError) as error:  # also: bytes that are no text, numbers of thousands of digits
        raise NotARun(f"Expected the JSON of an exported run; this is no JSON ({str(error)[:200]}).") from None


_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NO_BRACKET = bytes(byte for byte in range(256) if byte not in b"[]{}")


def _nested(content: bytes) -> int:
    """How deep brackets lie in brackets, those in texts left out."""
    brackets = np.frombuffer(_STRING.sub(b"", content).translate(None, _NO_BRACKET), dtype=np.uint8)
    opening = (brackets == ord("[")) | (brackets == ord("{"))
    return int(np.cumsum(np.where(opening, 1, -1), dtype=np.int64).max(initial=0))


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        names = [name for name, _ in pairs]
        refuse("each name once in an object,", "not twice", next(name for name in names if names.count(name) > 1))
    return entries


def table(required: Mapping[str, Check], possible: Mapping[str, Check] = {}) -> Check:
    """An object with all of `required`, perhaps some of `possible`; what has another name is dropped."""

    def check(what: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            refuse(what, "to be an object", value)
        for name in required:
            expect(name in value, f"{what} to have {name!r}")
        checks = {**required, **possible}
        return {name: entry(f"{name!r} of {what}", value[name]) for name, entry in checks.items() if name in value}

    return check


def _right(wanted: str, right: Callable[[Any], bool]) -> Check:
    """A value of which this is true."""

    def check(what: str, value: Any) -> Any:
        return value if right(value) else refuse(what, wanted, value)

    return check


def whole(low: int = 0, high: int = LARGEST_WHOLE) -> Check:
    """A whole number in [low, high]."""
    wanted = f"to be a whole number in [{low}, {high:,}]"
    return _right(wanted, lambda value: type(value) is int and low <= value <= high)


def one_of(allowed: tuple[str, ...]) -> Check:
    """One of these words."""
    return _right(f"to be one of {', '.join(allowed)}", lambda value: isinstance(value, str) and value in allowed)


flag = _right("to be true or false", lambda value: isinstance(value, bool))


def number(low: float = -LARGEST_NUMBER, high: float = LARGEST_NUMBER, *, endless: bool = False) -> Check:
    """A number in [low, high]; with `endless` NaN and infinities as well, as a training that diverged has them."""

    def check(what: str, value: Any) -> float:
        value = WORDS_OF_NUMBERS.get(value, value) if isinstance(value, str) else value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if isinstance(value, float) and not math.isfinite(value) and endless:
                return value
            if low <= value <= high:  # also for whole numbers that no float holds
                return value
        return refuse(what, f"to be a number in [{low:g}, {high:g}]", value)

    return check


def text(most: int) -> Check:
    """Words of at most `most` characters that can be stored and shown."""

    def check(what: str, value: Any) -> str:
        if not isinstance(value, str):
            refuse(what, "to be words", value)
        expect(len(value) <= most, f"{what} with at most {most:,} characters, found {len(value):,}")
        if value in WORDS_OF_NUMBERS:
            raise NotARun(f"Expected {what} to be words, found {value!r}, which stands for a number.")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise NotARun(f"Expected {what} to be words, found half a character.") from None
        # Control characters say nothing to people, and some readers stop at them.
        return "".join(c if c >= " " or c in "\n\t" else "\ufffd" for c in value)

    return check


def none_or(entry: Check) -> Check:
    """null, or what `entry` takes."""
    return lambda what, value: None if value is None else entry(what, value)


def listed(entry: Check, most: int, least: int = 0) -> Check:
    """A list of `least` to `most` entries."""

    def check(what: str, value: Any) -> list[Any]:
        if not isinstance(value, list):
            refuse(what, "to be a list", value)
        expect(least <= len(value) <= most, f"{what} with {least:,} to {most:,} entries, found {len(value):,}")
        return [entry(f"entry {at} of {what}", part) for at, part in enumerate(value)]

    return check

"""First checks of a line of a run file, before its content: its JSON, and the limits on what a run may hold.

What is written is held against the same limits as what is read.
"""

import json
import re
from typing import Any

import numpy as np

from dpviz.training.accounts.origins import MOST_ORIGINS
from dpviz.training.together import MOST_CHANGING

# A line of a hundred bytes can ask for a gigabyte; these bound what is made of one before anything is.
MOST_VALUES = 1_000_000  # commas and brackets in a line: Python takes some 50 to 150 bytes for a value
MOST_NESTED = 40  # brackets in brackets: runs need eight, and Python's reader can end the whole process at thousands
LARGEST_NUMBER = 1e39  # single precision, which trains, holds nothing larger
LARGEST_WHOLE = 2**53  # beyond it a float misses whole numbers

# What a run may hold, each with its reason; honest runs stay far below.
PLANNED = 1_000_000  # steps that the form allows
STEPS = 2 * PLANNED  # recorded, in all attempts: every ε of each is worked out again
EVENTS = 2 * STEPS
ATTEMPTS = 100
MECHANISMS = 2_000  # different ones: each is worked out under three accountants, 10 ms and more
CHANGING = MOST_CHANGING  # those of a plan in which each step has its own noise: from a table each takes 1 ms
DISTANCES = 8_000_000  # numbers for Bayesian accounting: 64 MB in memory, 3 µs each
REPLANS = 100  # after each, the Bayesian costs of all steps are worked out again
DISPUTES = 20
ORIGINS = MOST_ORIGINS + 1  # with what the run itself has lost
NAME = 200  # characters: the name's field holds as many
WORDS = 4_000  # a page
TRACE = 30_000  # a deep traceback
MANY = 10**12


class NotARun(ValueError):
    """The file is not an exported run; the message says why."""


def expect(right: bool, what: str) -> None:
    """Refuse the file, saying what was expected, unless that is so."""
    if not right:
        raise NotARun(f"Expected {what}.")


def shown(value: object) -> str:
    """A value as a message quotes it, always short."""
    if isinstance(value, (list, dict)):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST_WHOLE:
        return f"a whole number of {value.bit_length()} bits"  # Python refuses to write very long ones
    return ascii(value)[:60]


def parsed(line: bytes, what: str) -> Any:
    """The JSON in a line, if that is not too large. NaN and infinities, which JSON lacks, remain texts.

    Args:
        line: Its bytes.
        what: The name of the line, for messages.

    Raises:
        NotARun: if it is too large, no JSON, nested too deeply or names a thing twice.
    """
    values = sum(line.count(mark) for mark in (b",", b"[", b"{"))
    expect(values <= MOST_VALUES, f"at most {MOST_VALUES:,} values in {what}, found about {values:,}")
    flat = _nested(line) <= MOST_NESTED
    expect(flat, f"at most {MOST_NESTED} brackets in brackets in {what}; this is no JSON of a run")
    try:
        return json.loads(line.decode("utf-8-sig"), object_pairs_hook=_each_once)
    except NotARun:
        raise
    except (ValueError, RecursionError) as error:  # also: bytes that are no text, numbers of thousands of digits
        raise NotARun(f"Expected the JSON of an exported run; {what} is no JSON ({str(error)[:200]}).") from None


_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NO_BRACKET = bytes(byte for byte in range(256) if byte not in b"[]{}")


def _nested(content: bytes) -> int:
    """How deeply brackets are nested, without those in texts."""
    brackets = np.frombuffer(_STRING.sub(b"", content).translate(None, _NO_BRACKET), dtype=np.uint8)
    opening = (brackets == ord("[")) | (brackets == ord("{"))
    return int(np.cumsum(np.where(opening, 1, -1), dtype=np.int64).max(initial=0))


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise NotARun(f"Expected each name once in an object, found {shown(twice)} twice.")
    return entries

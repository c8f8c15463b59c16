"""What a person types for a number: 1e-5, 10k, 10 000, 5 %, 256/60000, 1/N, 1/(10 N), 1/N^1.1, 30 epochs.

text    = term ["/" term] ["epochs"]
term    = factor | "(" factor ")"
factor  = number | [number] "N" ["^" number]
number  = what Python's float reads, with k, M, G or % behind it
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

# What may be said in a text, and so must be known: the size of the data set, and q, the share of an epoch in a step.
SIZE, EPOCHS = "N", "epochs"
_LACKS = {
    SIZE: "the size N of the data set",
    EPOCHS: "the sampling rate q (batch ÷ N) above 0",
}
_SUFFIXES = {"k": "e3", "M": "e6", "G": "e9", "%": "e-2"}  # exponents, not factors: 1.001k is 1001 to the last digit
_OF_SIZE = re.compile(r"(?P<factor>[^Nn]*?)[*·]?[Nn](?:\^(?P<power>[^Nn]+))?")


class Lacking(ValueError):
    """A text that is understood, but says something that is not known here; its words are what is missing."""


def value(text: str, known: Mapping[str, float | None]) -> float:
    """The number that `text` writes.

    Args:
        known: what may be said in it, each with its value or None where that is not known.

    Raises:
        Lacking: it says what is not known.
        ZeroDivisionError: it divides by zero.
        ValueError: it is no number.
    """
    plain = "".join(text.replace("_", "").replace("−", "-").split())
    counted = plain.removesuffix("s").removesuffix("epoch") if EPOCHS in known else plain
    over, slash, under = counted.partition("/")
    found = _term(over, known) / _term(under, known) if slash else _term(counted, known)
    return found if counted == plain else steps_of(found, _known(EPOCHS, known))


def steps_of(epochs: float, rate: float) -> float:
    """Whole steps that cover so many epochs at sampling rate q: epochs ÷ q, rounded up.

    >>> steps_of(30, 256 / 60000)
    7032.0
    """
    steps = float(f"{epochs / rate:.12g}")  # 3 ÷ 0.1 is 30, whatever the last bit says
    return float(math.ceil(steps)) if math.isfinite(steps) else steps


def _known(name: str, known: Mapping[str, float | None]) -> float:
    found = known[name]
    if found is None:
        raise Lacking(_LACKS[name])
    return found


def _term(text: str, known: Mapping[str, float | None]) -> float:
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    try:
        return _number(text)
    except ValueError:
        if SIZE not in known or not (said := _OF_SIZE.fullmatch(text)):
            raise
    factor, power = said["factor"], said["power"]
    times, exponent = _number(factor) if factor else 1.0, _number(power) if power else 1.0
    try:
        return times * math.pow(_known(SIZE, known), exponent)
    except OverflowError:
        return math.copysign(math.inf, times)


def _number(text: str) -> float:
    """A number, perhaps with a suffix; ValueError for anything else."""
    return float(text[:-1] + _SUFFIXES[text[-1]] if text[-1:] in _SUFFIXES else text)

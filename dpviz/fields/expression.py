"""Grammar of typed numbers: 1e-5, 10k, 10 000, 5 %, 256/60000, 256 of 60000, 1/N, 1/(10 N), 1/N^1.1, 30 epochs.

text    = term [("/" | "of") term] ["epochs"]
term    = factor | "(" factor ")"
factor  = number | [number] "N" ["^" number]
number  = what Python's float reads, with k, M, G or % behind it

That is how links, scripts and the shell are read. In a field a person may also type a decimal comma or separate
thousands; `readings` turns such a text into this grammar.
"""

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

_TYPED = re.compile(r"([.,]*[0-9][0-9.,]*)(e[+-]?[0-9]+|[kMG])?", re.IGNORECASE)
_CONVENTIONS = (".", ","), (",", ".")  # decimal sign, thousands separator


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
    plain = "".join(text.replace("_", "").replace("−", "-").split()).replace("of", "/")
    counted = plain.removesuffix("s").removesuffix("epoch") if EPOCHS in known else plain
    over, slash, under = counted.partition("/")
    number = _term(over, known) / _term(under, known) if slash else _term(counted, known)
    return number if counted == plain else steps_of(number, _known(EPOCHS, known))


def readings(text: str) -> tuple[str, ...]:
    """What a person may mean by a typed text, each reading with a decimal point and no thousands separators.

    None where the text follows neither convention, two where it follows both and they differ. `readings.js` is the
    same for a page without a server.

    >>> readings("1.234,5"), readings("1,5e-5"), readings("60.000"), readings("1.2.3")
    (('1234.5',), ('1.5e-5',), ('60', '60000'), ())
    """
    possible = dict.fromkeys(plain for signs in _CONVENTIONS if (plain := _plain(text, *signs)) is not None)
    return tuple(map(_unambiguous, possible)) if len(possible) > 1 else tuple(possible)


def _plain(text: str, decimal: str, thousands: str) -> str | None:
    """`text` as one convention reads it; None where it breaks that convention."""

    def number(match: re.Match[str]) -> str:
        integer, point, fraction = match[1].partition(decimal)
        first, *groups = integer.split(thousands)
        grouped = not match[2] and re.fullmatch("[1-9][0-9]{0,2}", first) and all(len(group) == 3 for group in groups)
        if decimal in fraction or thousands in fraction or (groups and not grouped):
            raise ValueError
        return first + "".join(groups) + point.replace(decimal, ".") + fraction + (match[2] or "")

    try:
        return _TYPED.sub(number, text)
    except ValueError:
        return None


def _unambiguous(plain: str) -> str:
    """ "1.000" becomes "1", and "1.024" "1.0240": what no one reads as a thousand."""

    def number(match: re.Match[str]) -> str:
        short = match[0].rstrip("0").rstrip(".")
        return f"{match[0]}0" if short == match[0] else short

    return re.sub(r"\b[0-9]+\.[0-9]{3}(?![0-9])", number, plain)


def steps_of(epochs: float, rate: float) -> float:
    """Whole steps that cover so many epochs at sampling rate q: epochs ÷ q, rounded up.

    >>> steps_of(30, 256 / 60000)
    7032.0
    """
    steps = float(f"{epochs / rate:.12g}")  # 3 ÷ 0.1 is 30, whatever the last bit says
    return float(math.ceil(steps)) if math.isfinite(steps) else steps


def _known(name: str, known: Mapping[str, float | None]) -> float:
    number = known[name]
    if number is None:
        raise Lacking(_LACKS[name])
    return number


def _term(text: str, known: Mapping[str, float | None]) -> float:
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    try:
        return _number(text)
    except ValueError:
        if SIZE not in known or not (match := _OF_SIZE.fullmatch(text)):
            raise
    factor, power = match["factor"], match["power"]
    times, exponent = _number(factor) if factor else 1.0, _number(power) if power else 1.0
    try:
        return times * math.pow(_known(SIZE, known), exponent)
    except OverflowError:
        return math.copysign(math.inf, times)


def _number(text: str) -> float:
    """A number, perhaps with a suffix; ValueError for anything else."""
    return float(text[:-1] + _SUFFIXES[text[-1]] if text[-1:] in _SUFFIXES else text)

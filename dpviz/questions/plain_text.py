"""Plain text of a sentence in HTML, for the shell, notebooks, files and the lengths of lines."""

import re
from html import unescape

TAG = r"</?[a-zA-Z][^<>]*>"  # a "<" that no letter follows is a sign of its own
_TAG = re.compile(TAG)
_RAISED = re.compile(r"<sup>([^<]*)</sup>")
_LOWERED = re.compile(r"<sub>([^<]*)</sub>")


def plain_text(html: str) -> str:
    """The text without its tags; exponents and indices stay such.

    >>> plain_text("orders α &lt; <b>146</b>, t<sup>−1/3</sup>, x<sup>2</sup>, δ<sub>μ</sub>")
    'orders α < 146, t^(−1/3), x^2, δ_μ'
    """
    text = _RAISED.sub(lambda match: _exponent(match[1]), html)
    return unescape(_TAG.sub("", _LOWERED.sub(r"_\1", text)))


def _exponent(text: str) -> str:
    return f"^{text}" if len(text) == 1 else f"^({text})"

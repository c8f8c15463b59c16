"""Plain text of a sentence in HTML, for the shell, notebooks, files and the lengths of lines."""

import re
from html import unescape

TAG = r"</?[a-zA-Z][^<>]*>"  # a "<" that no letter follows is a sign of its own
_TAG = re.compile(TAG)
_RAISED = re.compile(r"<sup>([^<]*)</sup>")
_LOWERED = re.compile(r"<sub>([^<]*)</sub>")
_CLAUSE = re.compile(r"(?<!&lt)(?<!&gt)(?<!&amp); ")  # between two of a sentence
_END = re.compile(r"(?<=[.!?])\s+(?=[^\s\d(])")  # of a sentence


def plain_text(html: str) -> str:
    """The text without its tags; exponents and indices stay such.

    >>> plain_text("orders α &lt; <b>146</b>, t<sup>−1/3</sup>, x<sup>2</sup>, δ<sub>μ</sub>")
    'orders α < 146, t^(−1/3), x^2, δ_μ'
    """
    text = _RAISED.sub(lambda match: _exponent(match[1]), html)
    return unescape(_TAG.sub("", _LOWERED.sub(r"_\1", text)))


def first_sentences(html: str, most: int) -> str:
    """The first sentences that `most` characters hold, without a part of a further one; of a longer first sentence what
    stands before its semicolons.

    >>> first_sentences("ε ≤ <b>0.949</b>. Four times as many steps cost 2.04. No attack is right.", 45)
    'ε ≤ <b>0.949</b>. Four times as many steps cost 2.04.'
    >>> first_sentences("ε ≤ 0.949. Four times as many steps cost 2.04.", 3)
    'ε ≤ 0.949.'
    >>> first_sentences("10 000 steps cost ε ≤ 1.38; a filter allows 33 389.", 30)
    '10 000 steps cost ε ≤ 1.38.'
    """
    ends = [match.start() for match in _END.finditer(html) if not _within_tag(html, match.start())] + [len(html)]
    held = [end for end in ends if len(plain_text(html[:end])) <= most]
    if held:
        return html[: held[-1]]
    clause, *rest = _CLAUSE.split(html[: ends[0]], maxsplit=1)
    return f"{clause}." if rest else clause


def _within_tag(html: str, place: int) -> bool:
    return html.count("<", 0, place) > html.count(">", 0, place)


def _exponent(text: str) -> str:
    return f"^{text}" if len(text) == 1 else f"^({text})"

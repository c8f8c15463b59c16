"""A frame says what the settled page says: the same words, the same quantities, at most 1 % looser where they bound."""

import re
from typing import Any

import pytest

from dpviz.fields.field import Number
from dpviz.questions.acting import acting
from dpviz.questions.answer import Answer, soon, whole
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.layout import Reader, moved
from dpviz.questions.methods import coarsely
from dpviz.questions.networks import Network
from dpviz.questions.question import Question
from tests.questions.asking import default
from tests.trained import invented

NUMBER = re.compile(r"[−-]?\d(?:[\d  ]*\d)?(?:\.\d+)?(?:e-?\d+)?|∞")
EVERY = [
    pytest.param(1, marks=(pytest.mark.long, pytest.mark.timeout(7200)), id="all stops"),
    pytest.param(4, id="some"),
]
BOUNDED = {key: question for key, question in QUESTIONS.items() if any(slow.quick for slow in question.slow)}


@pytest.fixture(autouse=True)
def nothing_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Network, "sample", lambda network: invented(network.arguments))


def values(text: str) -> list[float]:
    plain = (one.replace(" ", "").replace(" ", "").replace("−", "-") for one in NUMBER.findall(text))
    return [float(one.replace("∞", "inf")) for one in plain]


def last_digits(text: str) -> list[float]:
    """One unit of the last digit of each number with two digits and a point; 0 for all others, which have more."""
    plain = [one.strip() for one in NUMBER.findall(text)]
    return [0.1 if re.fullmatch(r"\d\.\d", one) else 0.0 for one in plain]


def worded(text: str) -> str:
    return NUMBER.sub("#", text)


def same(question: Question[Any], frame: Answer[Any], settled: Answer[Any], where: str) -> None:
    """Words and metrics; a number that is not in the frame is "…" there."""
    assert worded(question.headline(frame)) == worded(question.headline(settled)), where
    for now, then in zip(question.metrics(frame), question.metrics(settled), strict=True):
        assert worded(now.name) == worded(then.name), where
        if now.value == "…":
            continue
        assert worded(now.value) == worded(then.value), f"{where}: {now} / {then}"
        if "≤" in now.value:
            for loose, tight, digit in zip(values(now.value), values(then.value), last_digits(then.value), strict=True):
                # At most 1 % more, as three digits say it; "5.9 %" has two, and the next that can be said is "6.0 %".
                most = max(1.011 * tight, (1.0 + 1e-9) * (tight + digit))
                assert tight <= loose <= most or loose == tight, f"{where}: {now} / {then}"


def asked(question: Question[Any], get: Reader) -> tuple[Answer[Any], Answer[Any]] | None:
    """What a frame and what the settled page shows; None where there is no answer."""
    try:
        exact = question.asked(question.read(get))
    except ValueError:
        return None
    with coarsely():
        frame = soon(question.asked(question.read(get)), question.slow)
    return frame, whole(exact, tuple(slow for slow in question.slow if slow.quick))


@pytest.mark.parametrize("most", EVERY)
@pytest.mark.parametrize("key", BOUNDED)
@pytest.mark.one_of(4)
def test_a_frame_says_what_the_settled_page_says(key: str, most: int) -> None:
    question = QUESTIONS[key]
    for field in acting(question, default):
        if not isinstance(field, Number) or not field.ticks:
            continue
        ticks = field.ticks
        few = [ticks[round(i * (len(ticks) - 1) / (most - 1))] for i in range(most)] if 1 < most < len(ticks) else ticks
        for value in few:
            found = asked(question, moved(default, field, value))
            if found is not None:
                same(question, *found, f"{key} {field.key}={field.write(value)}")

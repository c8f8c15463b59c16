"""Asks a question as a link does: settings by their keys in links, as text; reads what is drawn; and runs scripts."""

import re
import tomllib
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qsl

import numpy as np
import numpy.typing as npt
import pandas as pd

import dpviz
from dpviz.charts.marks import Line
from dpviz.charts.plot import LinePlot
from dpviz.questions.answer import Answer, Slow, whole
from dpviz.questions.asked import Asked
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.presets import PRESETS
from dpviz.questions.question import Question


def table(name: str) -> dict[str, Any]:
    """A table beside this file."""
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))


def headline(question: Question[Any], answer: Answer[Any]) -> str:
    """The headline without the marks of its settings."""
    return re.sub(r"</?span[^>]*>", "", question.headline(answer))


def skeleton(text: str) -> str:
    """A sentence without its numbers, and without the name of the bound that stands where PLD has no smaller ε.

    A bound of 100 % is said in words.
    """
    text = re.sub(r"\bA guess (.*?) may be right every time", r"No guess \1 is right more than 100 % of the time", text)
    text = re.sub(r" \((?:Rényi|moments|strong|basic|closed form)[^)]*\)", "", text)
    number = r"\d+(?:[\u2009\u202f\u00a0 ]\d{3})*(?:\.\d+)?(?:e[−+-]?\d+)?"
    return re.sub(number, "#", text).replace("# step,", "# steps,")


def default(field: Any) -> Any:
    """A reader of defaults."""
    return field.default


def reading(values: dict[str, Any]) -> Any:
    """A reader of values by their fields' keys, and of defaults."""
    return lambda field: values.get(field.key, field.default)


def asked(question: Question[Any], **texts: str) -> Answer[Any]:
    """The answer without its slow parts."""
    known = {field.key for field in question.fields}
    assert set(texts) <= known, set(texts) - known
    return question.asked(question.read(lambda f: f.parse(texts[f.key]) if f.key in texts else f.default))


def asked_whole(question: Question[Any], **texts: str) -> Answer[Any]:
    """The answer with all of them."""
    return whole(asked(question, **texts), question.slow)


def linked(question: Question[Any], query: str = "") -> Answer[Any]:
    """The answer to a link's query, without its slow parts."""
    return asked(question, **dict(parse_qsl(query, keep_blank_values=True)))


def answer_to(link: str) -> Answer[Any]:
    """The answer to a link that begins with the question's own key, without its slow parts."""
    key, _, query = link.partition("?")
    return linked(QUESTIONS[key], query)


def of_preset(question: Question[Any], preset: str, **more: str) -> Answer[Any]:
    """The answer without its slow parts at a preset's settings, as far as they are the question's, and more."""
    known = {field.key for field in question.fields}
    return asked(question, **({key: text for key, text in PRESETS[preset].values.items() if key in known} | more))


def lines(answer: Answer[Any]) -> dict[str, Line]:
    """What is drawn, by key."""
    assert isinstance(answer.plot, LinePlot)
    return {line.key: line for line in answer.plot.lines}


def curves(answer: Answer[Any]) -> dict[str, npt.NDArray[np.float64]]:
    """The values of every line, by key."""
    return {key: np.asarray(line.y) for key, line in lines(answer).items()}


def library_epsilon(key: str, **known: Any) -> Any:
    """ε by the method of a curve's key, as the library names it: "renyi_classic" is a conversion of "renyi"."""
    name, _, conversion = key.partition("_") if key.startswith("renyi") else (key, "", "")
    return dpviz.epsilon(name, **known, **({"conversion": conversion} if conversion else {}))


def run_script(source: str, expected: Asked) -> Asked:
    """What a script leaves behind, which says and draws what is expected; nothing opens."""
    found: dict[str, Any] = {}
    with patch("plotly.graph_objects.Figure.show"):
        exec(compile(source, "script", "exec"), found)
    answer: Asked = found["answer"]
    assert answer.headline == expected.headline
    pd.testing.assert_frame_equal(found["points"], expected.data())
    return answer


def with_part(answer: Answer[Any], slow: Slow[Any]) -> Answer[Any]:
    """The answer with one of its slow parts."""
    assert slow.key(answer) is not None
    return slow.join(answer, slow.work(answer))


def notes(question: Question[Any], answer: Answer[Any]) -> str:
    """What its notes say, in one text."""
    return "\n".join(note.text for note in question.notes(answer))

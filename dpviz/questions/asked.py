"""A question asked by name, from a notebook, a program or the shell.

>>> answer = ask("success", epsilon=1.0, delta=1e-5)
>>> answer.headline.split(",")[0]
'Under ε = 1 and δ = 1e-5 alone'
"""

from __future__ import annotations

import html
import json
import re
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpviz._extras import extra
from dpviz.fields import Field
from dpviz.questions import Compound, Question, Reader, Setting, links, value_of
from dpviz.questions.answer import Answer, whole
from dpviz.questions.catalogue import PAGES, QUESTIONS
from dpviz.questions.script import script

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


_SHORT = reprlib.Repr()
_SHORT.maxother = _SHORT.maxstring = 60


@dataclass(frozen=True, eq=False, repr=False)
class Asked:
    """An answer with everything that follows from it.

    Attributes:
        question: what was asked.
        answer: its plot, its facts and the values it answers to.
    """

    question: Question[Any]
    answer: Answer[Any]

    @property
    def headline(self) -> str:
        """The result in plain words."""
        return html.unescape(re.sub(r"<[^>]+>", "", self.question.headline(self.answer)))

    def figure(self, *, height: int = 430) -> go.Figure:
        """The chart, as a Plotly figure of that many pixels."""
        with extra("ask"):
            import plotly.graph_objects as go

        return go.Figure(self.answer.plot.chart(height).figure)

    def table(self) -> pd.DataFrame:
        """A dozen rows, every value written."""
        return self.answer.plot.table()

    def data(self) -> pd.DataFrame:
        """All points as numbers."""
        return self.answer.plot.data()

    def to_json(self) -> dict[str, Any]:
        """What the page says, as JSON holds it: question, settings as a link writes them, headline, metrics, notes."""
        question, answer = self.question, self.answer
        return {
            "question": question.key,
            "settings": dict(question.texts(answer.given)),
            "headline": self.headline,
            "metrics": [metric._asdict() for metric in question.metrics(answer)],
            "notes": [note.text for note in question.notes(answer)],
            "link": self.link,
        }

    def script(self) -> str:
        """Python source of some ten lines that makes the same answer.

        Raises:
            ValueError: no script can write a value that was given.
        """
        return script(self.question, self.answer)

    @cached_property
    def link(self) -> str:
        """The page and query string of the app that show it."""
        page = next(page for page in PAGES if self.question in page.questions)
        texts = {page.choice.key: self.question.asked_as} if page.choice else {}
        query = links.written((texts | self.question.texts(self.answer.given)).items())
        return f"/{page.key}?{query}" if query else f"/{page.key}"

    def html(self, path: str | Path) -> None:
        """Write a page that needs no server: its chart follows every slider, one at a time, from what the file holds.

        At most 5 MB. Some questions take minutes: up to 25 stops of each slider are computed.

        Raises:
            ValueError: the page would be larger, or no link shows these settings.
        """
        from dpviz.questions.handout import Handout

        texts, given = self.question.texts(self.answer.given), self.answer.given

        def get(field: Field[Any], /) -> Any:
            return field.parse(texts[field.key]) if field.key in texts else field.default

        here = self.question.read(get)

        def at(moved: Reader) -> Answer[Any]:
            values = self.question.read(moved)
            return self.question.asked({key: given[key] if values[key] == here[key] else values[key] for key in given})

        page = Handout(self.question, self.answer, get, at, self.link)
        Path(path).write_text(page.html(), encoding="utf-8")

    def __repr__(self) -> str:
        """Question, settings and headline: what a plain console shows."""
        settings = ", ".join(f"{name}={_SHORT.repr(value)}" for name, value in self.answer.given.items())
        return f"{self.question.title}\nask({self.question.key!r}, {settings})\n{self.headline}"

    def _titled(self) -> go.Figure:
        return self.figure().update_layout(title={"text": self.headline, "font": {"size": 13}}, margin_t=70)

    def _repr_html_(self) -> str:
        """In a notebook (marimo, and wherever Plotly has no renderer of its own): chart and headline."""
        return str(self._titled().to_html(full_html=False, include_plotlyjs="cdn"))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """In Jupyter: the same for Plotly's own renderer."""
        shown = json.loads(self._titled().to_json())
        return {"application/vnd.plotly.v1+json": shown, "text/html": self._repr_html_(), "text/plain": self.headline}


def ask(key: str, /, **settings: Any) -> Asked:
    """Ask a question of the app from Python.

    Args:
        key: the question's name; `dpviz.questions.catalogue.QUESTIONS` has them all.
        settings: its settings by keyword; what is not given is as the page starts.

    Raises:
        ValueError: a question or a setting that there is not, or a value out of its range; the message says what would
            do.
    """
    question = _question(key)
    return Asked(question, whole(question.asked(_values(question, settings)), question.slow))


def _whole(given: Any, setting: Setting | None) -> bool:
    """Whether a setting made of several fields was given as one value; texts are for its fields."""
    return isinstance(setting, Compound) and given is not None and not isinstance(given, str)


def _question(key: str) -> Question[Any]:
    if key not in QUESTIONS:
        raise ValueError(f"Question {key!r} does not exist; choose one of {', '.join(QUESTIONS)}.")
    return QUESTIONS[key]


def _values(question: Question[Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The value of every setting, checked; one made of several fields may be given whole, or field by field."""
    named = question.named()
    whole_ones = {name for name, given in settings.items() if _whole(given, question.settings.get(name))}
    unknown = [name for name in settings if name not in named and name not in whole_ones]
    if unknown:
        offered = ", ".join(dict.fromkeys([*question.settings, *named]))
        raise ValueError(f"Question {question.key!r} has no setting {unknown[0]!r}; it has {offered}.")
    given = {named[name].key: value for name, value in settings.items() if name in named and name not in whole_ones}

    def get(field: Field[Any], /) -> Any:
        return field.accept(given[field.key]) if field.key in given else field.default

    return {
        name: settings[name] if _whole(settings.get(name), setting) else value_of(setting, get)
        for name, setting in question.settings.items()
    }

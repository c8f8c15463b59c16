"""Questions asked by name, from a notebook, a program or the shell.

>>> answer = ask("success", epsilon=1.0, delta=1e-5)
>>> answer.headline.split(",")[0]
'Under ε = 1 and δ = 1e-5 alone'
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from dpviz._extras import extra
from dpviz._other_names import right_name
from dpviz.fields import AnyField
from dpviz.questions import AnyQuestion, Compound, Reader, Setting, links, value_of
from dpviz.questions.answer import AnyAnswer, whole
from dpviz.questions.catalogue import PAGES, QUESTIONS
from dpviz.questions.layout import Values, of_texts
from dpviz.questions.methods import coarsely
from dpviz.questions.plain_text import plain_text
from dpviz.questions.script import script

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


LONGEST_TITLE = 88  # characters of a line over a chart of 600 pixels
_SHORT = reprlib.Repr()
_SHORT.maxother = _SHORT.maxstring = 60


@dataclass(frozen=True, eq=False, repr=False)
class Asked:
    """An answer with everything that follows from it.

    Attributes:
        question: what was asked.
        answer: its plot, its facts and the values it answers to.
        understood: what a text that was given says, a sentence each.
    """

    question: AnyQuestion
    answer: AnyAnswer
    understood: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """The result in plain words."""
        return plain_text(self.question.headline(self.answer))

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
            "understood": list(self.understood),
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

        def get(field: AnyField, /) -> Any:
            return field.parse(texts[field.key]) if field.key in texts else field.default

        here = self.question.read(get)

        def at(moved: Reader) -> AnyAnswer:
            values = self.question.read(moved)
            with coarsely():
                return self.question.asked(
                    {key: given[key] if values[key] == here[key] else values[key] for key in given}
                )

        page = Handout(self.question, self.answer, get, at, self.link)
        Path(path).write_text(page.html(), encoding="utf-8")

    def __repr__(self) -> str:
        """Question, settings and headline: what a plain console shows."""
        settings = ", ".join(f"{name}={_SHORT.repr(value)}" for name, value in self.answer.given.items())
        return f"{self.question.title}\nask({self.question.key!r}, {settings})\n{self.headline}"

    def _titled(self) -> go.Figure:
        """The chart under its headline, on white: a notebook may be dark, and names have colours for a light page."""
        title = {"text": "<br>".join(wrap(self.headline, LONGEST_TITLE)), "font": {"size": 13}}
        return self.figure().update_layout(title=title, margin_t=88, paper_bgcolor="white", plot_bgcolor="white")

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
        settings: its settings by keyword; what is not given is as the page starts. With none at all, the question is
            asked as a link opens it that says nothing else: "policy" at its paper's setting. A text that the question
            reads (`code` of "check") gives those that it settles, but for those that are given themselves.

    Raises:
        ValueError: a question or a setting that there is not, or a value out of its range; the message says what would
            do.
    """
    question = _question(key)
    values, understood = _values(question, settings)
    return Asked(question, whole(question.asked(values), question.slow), understood)


def _whole(given: Any, setting: Setting | None) -> bool:
    """Whether a setting made of several fields was given as one value; texts are for its fields."""
    return isinstance(setting, Compound) and given is not None and not isinstance(given, str)


def _question(key: str) -> AnyQuestion:
    if key not in QUESTIONS:
        raise ValueError(
            f"Question {key!r} does not exist; the nearest are {_nearest(key, QUESTIONS)}. 'dpviz ask' lists all."
        )
    return QUESTIONS[key]


def _nearest(name: str, names: Iterable[str]) -> str:
    """The three names that are most like `name`, the one that means the same first, where there is one."""
    offered = list(names)
    alike = get_close_matches(name, offered, n=3, cutoff=0.0)
    return ", ".join([*dict.fromkeys(filter(None, (right_name(name, offered), *alike)))][:3])


def _values(question: AnyQuestion, settings: Values) -> tuple[Values, tuple[str, ...]]:
    """The value of every setting, checked, and what was understood of the texts among them.

    A setting made of several fields may be given whole, or field by field.
    """
    if not settings and question.opens is not None:
        return question.read(of_texts(question.opens.values)), ()
    named = question.named()
    texts = {name: str(text) for name, text in settings.items() if name in question.reads}
    settings = {name: given for name, given in settings.items() if name not in texts}
    whole_ones = {name for name, given in settings.items() if _whole(given, question.settings.get(name))}
    unknown = [name for name in settings if name not in named and name not in whole_ones]
    if unknown:
        offered = _nearest(unknown[0], dict.fromkeys([*question.settings, *named, *question.reads]))
        raise ValueError(
            f"Question {question.key!r} has no setting {unknown[0]!r}; the nearest are {offered}. "
            f"'dpviz ask {question.key} --settings' lists all."
        )
    given = {named[name].key: value for name, value in settings.items() if name in named and name not in whole_ones}
    readings = [question.reads[name](text, tuple(given)) for name, text in texts.items()]
    for reading in readings:
        given = {**reading.texts, **given}

    def get(field: AnyField, /) -> Any:
        return field.accept(given[field.key]) if field.key in given else field.default

    values = {
        name: settings[name] if _whole(settings.get(name), setting) else value_of(setting, get)
        for name, setting in question.settings.items()
    }
    return values, tuple(sentence for reading in readings for sentence in reading.sentences)

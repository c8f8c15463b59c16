"""Stops of a story or a lecture: a question at set values, with a text whose numbers are of its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from dpviz.charts import LinePlot, Plot
from dpviz.questions import AnyAnswer, AnyQuestion
from dpviz.questions.page import Page


def results(answer: AnyAnswer) -> Plot:
    """What the answer draws of results alone: no text explains what they are held against."""
    return replace(answer.plot, references=()) if isinstance(answer.plot, LinePlot) else answer.plot


@dataclass(frozen=True)
class Stop:
    """One stop.

    Attributes:
        title: what is asked.
        words: its text, or the function that says the numbers of an answer in it.
        question, page: what is drawn, and where it can be gone into.
        values: the settings, by their keys in links; the rest is at its defaults.
        plot: what is drawn of an answer.
        says: the result in plain words, as HTML; the question's own headline where None.
    """

    title: str
    words: str | Callable[[AnyAnswer], str]
    question: AnyQuestion
    page: Page
    values: Mapping[str, str] = field(default_factory=dict)
    plot: Callable[[AnyAnswer], Plot] = results
    says: Callable[[AnyAnswer], str] | None = None

    @property
    def counts(self) -> bool:
        """Whether its text says numbers of the answer."""
        return not isinstance(self.words, str)

    def text(self, answer: Callable[[], AnyAnswer]) -> str:
        """Markdown, with the numbers of the answer, which is asked for only where there are such."""
        return self.words if isinstance(self.words, str) else self.words(answer())

    def headline(self, answer: AnyAnswer) -> str:
        """The result in plain words, as HTML."""
        return (self.says or self.question.headline)(answer)

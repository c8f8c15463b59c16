"""A page: one question, or several that a choice on the page tells apart; pages.toml says what it is called."""

import tomllib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

from dpviz.fields import AnyField, Choice
from dpviz.questions import AnyQuestion, Reader
from dpviz.questions.presets import Preset

# The part of the navigation with the pages that need runs and PyTorch.
TRAINING: Final = "Train"


class Group(NamedTuple):
    """Questions about one thing, as a page lists them.

    Attributes:
        topic: what they are about, with which their titles may begin: "DP-SGD".
        source: whose work it is.
        questions: in their order.
    """

    topic: str
    source: str
    questions: tuple[AnyQuestion, ...]

    @property
    def heading(self) -> str:
        return f"{self.topic} · {self.source}" if self.source else self.topic

    @property
    def options(self) -> dict[str, str]:
        """The questions' names in the page's choice, each with its title without the topic."""
        titles = {one.asked_as: one.title.removeprefix(self.topic).lstrip(",: ") for one in self.questions}
        return {key: title[0].upper() + title[1:] for key, title in titles.items()}


@dataclass(frozen=True)
class Page:
    """One address of the app.

    Attributes:
        key: the address.
        title: in the navigation.
        icon: a Material symbol.
        asks: what it answers: "What can an attacker do?"
        about: what is on it, in a line.
        questions: in the order of their choice.
        section: the part of the navigation that it stands in.
        view: the key of that choice in links; empty where there is one question.
        help: of the choice.
        pins_follow: whether a pinned state answers the question on screen, whichever it was pinned under.
        groups: the questions as a list with headings, where a page has too many for a menu.
    """

    key: str
    title: str
    icon: str
    asks: str
    about: str
    questions: tuple[AnyQuestion, ...]
    section: str = "See"
    view: str = ""
    help: str = ""
    pins_follow: bool = False
    groups: tuple[Group, ...] = ()

    @property
    def trains(self) -> bool:
        """Whether it is about runs of this machine: it trains, or looks at what was trained."""
        return self.section == TRAINING

    def heading(self, question: AnyQuestion) -> str:
        """Its title and that of one of its questions: "Compose · How does ε grow with steps?", or "Check a program"."""
        return question.title if question.title.startswith(self.title) else f"{self.title} · {question.title}"

    @cached_property
    def choice(self) -> Choice | None:
        """Which question is asked."""
        if len(self.questions) == 1:
            return None
        options = {question.asked_as: question.title for question in self.questions}
        first = self.questions[0].asked_as
        tall = len(options) > 2 or sum(map(len, options.values())) > 36  # side by side no more fit
        return Choice(key=self.view, label="Question", default=first, options=options, help=self.help, tall=tall)

    @property
    def fields(self) -> tuple[AnyField, ...]:
        """All fields of the page, each once."""
        by_key = {one.key: one for question in self.questions for one in question.fields}
        return (*([self.choice] if self.choice else []), *by_key.values())

    @property
    def presets(self) -> tuple[Preset, ...]:
        return tuple({p.key: p for question in self.questions for p in question.presets}.values())

    def question(self, get: Reader) -> AnyQuestion:
        """The question that `get` asks."""
        if self.choice is None:
            return self.questions[0]
        asked = get(self.choice)
        return next(question for question in self.questions if question.asked_as == asked)


TABLE: Final[dict[str, dict[str, Any]]] = tomllib.loads(Path(__file__).with_name("pages.toml").read_text("utf-8"))


def page(key: str, *questions: AnyQuestion) -> Page:
    """The page with this key and these questions, as the table has it."""
    return Page(key=key, questions=questions, **TABLE[key])


def grouped(key: str, *groups: Group) -> Page:
    """The page with this key, whose questions stand in groups."""
    return replace(page(key, *(question for group in groups for question in group.questions)), groups=groups)

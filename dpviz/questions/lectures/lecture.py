"""A lecture: one paper in five to eight stops of a minute, each a question at set values, with sliders and a question
for the room."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from dpviz.charts import LinePlot, Plot
from dpviz.fields import Number
from dpviz.questions import AnyAnswer
from dpviz.questions.layout import Reader
from dpviz.questions.presets import PRESETS
from dpviz.questions.printed import Paper
from dpviz.questions.stops import Stop, results


@dataclass(frozen=True)
class RoomQuestion:
    """A question for the room, and its reply.

    Attributes:
        asks: the question, or what says it with numbers of the stop's answer.
        replies: the reply, from the stop's answer and the answer with `moved` in it.
        moved: settings that differ in the second answer, by their keys in links.
    """

    asks: str | Callable[[AnyAnswer], str]
    replies: Callable[[AnyAnswer, AnyAnswer], str]
    moved: Mapping[str, str] = field(default_factory=dict)

    def text(self, answer: AnyAnswer) -> str:
        """The question, as Markdown."""
        return self.asks if isinstance(self.asks, str) else self.asks(answer)

    def reader(self, get: Reader) -> Reader:
        """The values of `get` with those that are moved."""
        return lambda one, /: one.parse(self.moved[one.key]) if one.key in self.moved else get(one)


@dataclass(frozen=True, kw_only=True)
class LectureStop(Stop):
    """One stop of a lecture.

    Attributes:
        room: what the room is asked.
        sliders: keys of one or two settings that the speaker moves, of the question's own.
        runs: the key of the one among them that goes through its stops by itself until the room says stop; empty for
            none.
    """

    room: RoomQuestion
    sliders: tuple[str, ...]
    runs: str = ""

    def __post_init__(self) -> None:
        numbers = {one.key for one in self.question.fields if isinstance(one, Number)}
        if not 1 <= len(self.sliders) <= 2 or not numbers.issuperset(self.sliders):
            raise ValueError(f"Expected one or two sliders of {self.question.key!r}, got {self.sliders}.")
        if self.runs and self.runs not in self.sliders:
            raise ValueError(f"Expected one of the sliders {self.sliders} to run, got {self.runs!r}.")

    @cached_property
    def moving(self) -> tuple[Number, ...]:
        """The fields of the sliders."""
        by_key = {one.key: one for one in self.question.fields if isinstance(one, Number)}
        return tuple(by_key[key] for key in self.sliders)

    @property
    def movable(self) -> frozenset[str]:
        """Keys of the settings that may differ from the stop's values."""
        return frozenset((*self.sliders, *self.room.moved))

    def sentence(self, answer: AnyAnswer) -> str:
        """The sentence for the speaker, as Markdown."""
        return self.text(lambda: answer)


@dataclass(frozen=True)
class Lecture:
    """A paper's stops, in their order."""

    paper: Paper
    stops: tuple[LectureStop, ...]

    @property
    def key(self) -> str:
        return self.paper.key

    @property
    def link(self) -> str:
        """Where the app gives it."""
        return f"lecture?paper={self.key}"


def printed(preset: str) -> Callable[[AnyAnswer], Plot]:
    """What draws an answer with the printed values of a preset."""

    def plot(answer: AnyAnswer) -> Plot:
        shown = results(answer)
        return replace(shown, points=PRESETS[preset].points) if isinstance(shown, LinePlot) else shown

    return plot

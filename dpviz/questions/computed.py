"""Answers kept by value, and their slow parts, which join an answer when they are there.

Results are kept by value: going back costs nothing, and questions that share a slow part find it computed.
"""

from collections.abc import Callable, Hashable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from dpviz._remember import MEMORY, remembered
from dpviz.fields import Field
from dpviz.mechanisms import Mechanism
from dpviz.questions.answer import AnyAnswer, soon
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.gradients import Law, Norms, Vectors
from dpviz.questions.layout import Values
from dpviz.questions.methods import coarsely
from dpviz.questions.question import AnyQuestion


class ToCome(NamedTuple):
    """A part that is still to be computed: what it will be found under, which names the slow part and its key, and the
    work."""

    name: tuple[Callable[..., Any], Hashable]
    work: Callable[[], Any]


class Joined(NamedTuple):
    """An answer with the slow parts that are there, and the quick ones of others; those that are missing; and the names
    of parts that failed, without which the answer stands.
    """

    answer: AnyAnswer
    missing: tuple[ToCome, ...] = ()
    failed: tuple[Hashable, ...] = ()


def computed(question: AnyQuestion, values: Values, *, coarse: bool = False) -> AnyAnswer:
    """The answer to these values of its settings, without its slow parts; of fewer points where `coarse`.

    Raises:
        ValueError: these values have no answer.
    """
    # What is kept are numbers; a sample among the values belongs to whoever asks.
    return replace(_computed(question.key, coarse, tuple(values), *values.values()), given=values)


@remembered
def _computed(key: str, coarse: bool, names: tuple[str, ...], *values: Any) -> AnyAnswer:
    with coarsely() if coarse else nullcontext():
        return QUESTIONS[key].answer(**dict(zip(names, values, strict=True)))


def plain(question: AnyQuestion, given: Values) -> bool:
    """Whether values of fields say all of these: none is measured, uploaded or read from recorded runs."""
    values = Mechanism | Law | Norms | Vectors | None
    return all(isinstance(question.settings[key], Field) or isinstance(given[key], values) for key in given)


def part_here(question: AnyQuestion, place: int, answer: AnyAnswer) -> Any:
    """The slow part at this place in the question."""
    return question.slow[place].work(answer)


def part_of(key: str, place: int, values: Values) -> Any:
    """The slow part at this place in the question of this key, of the answer to these values."""
    question = QUESTIONS[key]
    return part_here(question, place, computed(question, values))


def joined(
    question: AnyQuestion,
    answer: AnyAnswer,
    log: Callable[[Exception], object],
    part: Callable[[AnyQuestion, int, AnyAnswer], Any] = part_here,
) -> Joined:
    """The answer with what is there of its slow parts.

    Args:
        log: told of what failed.
        part: the work for a part that is missing.
    """
    missing: list[ToCome] = []
    failed: list[Hashable] = []
    for place, slow in enumerate(question.slow):
        key = slow.key(answer)
        if key is None:
            continue
        name = (slow.work, key)
        try:
            there = finished(name)
            if there is not None:
                answer = slow.join(answer, there)
                continue
            missing.append(ToCome(name, partial(part, question, place, answer)))
            answer = soon(answer, (slow,))
        except Exception as error:
            log(error)
            failed.append(name)
    return Joined(answer, tuple(missing), tuple(failed))


# --- results of slow work ---------------------------------------------------------------------------------------------


class _Failed:
    """What the work raised, without the frames that it was raised in: they would keep all that they worked on."""

    def __init__(self, error: Exception) -> None:
        self.error = error.with_traceback(None)
        self.error.__context__ = self.error.__cause__ = None


def keep(name: Hashable, work: Callable[[], Any]) -> None:
    """Do the work and keep what it returns, or what it raises, under this name."""
    try:
        result = work()
    except Exception as error:
        result = _Failed(error)
    MEMORY.put(("slow part", name), result)


def finished(name: Hashable) -> Any | None:
    """The result kept under `name`, None while there is none; raises what the work raised."""
    result = MEMORY.get(("slow part", name))
    if isinstance(result, _Failed):
        raise result.error.with_traceback(None)
    return result


def there(name: Hashable) -> bool:
    """Whether there is one, or the work failed."""
    return MEMORY.get(("slow part", name)) is not None


def forget(name: Hashable) -> None:
    """What failed under `name` may be tried again."""
    MEMORY.forget(("slow part", name))

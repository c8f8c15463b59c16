"""A process that makes frames and slow parts: ``python -m dpviz.ui.hand.maker``, started by `beside`.

It says "ready", and then answers requests: {"recipe", "text"} by the frame, which names the slow parts that it lacks by
their places in the question and their keys, "parts" brings those that the app has, pickled; {"question", "part",
"texts"} by a slow part's key and the part. None where that cannot be made here.
"""

import os
import pickle
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.layout import of_texts
from dpviz.runs.child import Parent, end_with_parent
from dpviz.ui import answers
from dpviz.ui.hand import fetched


def serve(parent: Parent) -> None:
    """Until its input ends."""
    parent.say("ready", None)
    for request in parent.messages():
        try:
            made = _frame(**request) if "recipe" in request else _part(**request)
        except Exception:  # the app, which then makes it itself, says what is wrong
            made = None
        parent.say("made", made)


def _frame(recipe: Mapping[str, Any], text: str, parts: str = "") -> fetched.Packed:
    read = fetched.recipe_of(recipe)
    works = [slow.work for slow in read.question.slow]
    for k, key, part in pickle.loads(bytes.fromhex(parts)) if parts else ():
        answers.start((works[k], key), partial(lambda value: value, part)).result()
    frame = fetched.make(read, text)
    return frame._replace(missing=tuple((works.index(work), key) for work, key in frame.missing))


def _part(question: str, part: int, texts: Mapping[str, str]) -> Any:
    return answers.part_of(QUESTIONS[question], part, of_texts(texts))


if __name__ == "__main__":
    end_with_parent()
    with suppress(AttributeError, OSError):  # pages go first
        os.nice(5)
    serve(Parent())

"""A process that makes frames: ``python -m dpviz.ui.hand.maker``, started by `beside`.

It says "ready", and to each request {"recipe", "text"} "frame" with the frame and which slow part it lacks, by that
part's place in its question and its key; None where the recipe cannot be made here.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from dpviz.runs.child import Parent, end_with_parent
from dpviz.ui.hand import fetched


def serve(parent: Parent) -> None:
    """Until its input ends."""
    parent.say("ready", None)
    for request in parent.messages():
        parent.say("frame", _made(request["recipe"], request["text"]))


def _made(written: dict[str, Any], text: str) -> tuple[fetched.Packed, int | None] | None:
    try:
        recipe = fetched.recipe_of(written)
    except ValueError:
        return None
    frame = fetched.make(recipe, text)
    if frame.missing is None:
        return frame, None
    work, key = frame.missing
    place = [slow.work for slow in recipe.question.slow].index(work)
    return frame._replace(missing=key), place


if __name__ == "__main__":
    end_with_parent()
    with suppress(AttributeError, OSError):  # pages go first
        os.nice(5)
    serve(Parent())

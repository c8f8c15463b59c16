"""The runs of this machine's store as points of accuracy against ε."""

import math
from collections.abc import Iterator
from itertools import islice

from dpviz._extras import MissingExtra
from dpviz.questions.noise.reached import Reached
from dpviz.runs.claims import FINISHED, claim_of_record
from dpviz.runs.engine import engine
from dpviz.runs.store.records import Chosen, StoreError
from dpviz.training.models import MODELS
from dpviz.training.summary import accuracy_of

MOST = 100
SAME = {"mnist": ("mnist", "mnist-10k"), "svhn": ("svhn", "svhn-whole")}  # data sets of one chart


def reached(data: str) -> tuple[Reached, ...]:
    """The newest finished runs on this data set with a claim and an accuracy; none where the store cannot be read, or
    where the packages that record runs are not installed."""
    try:
        return tuple(islice(_reached(SAME.get(data, (data,))), MOST))
    except (StoreError, MissingExtra):
        return ()


def _reached(data: tuple[str, ...]) -> Iterator[Reached]:
    for record in engine().each(Chosen(states=FINISHED, data=data)):
        accuracy = accuracy_of(record.summary)
        if not isinstance(accuracy, float):
            continue
        claim = claim_of_record(record, engine().store)
        shown = claim.shown
        if shown.holds and math.isfinite(shown.epsilon) and shown.epsilon > 0.0 and 0.0 <= accuracy <= 1.0:
            model = MODELS.get(str(record.settings.get("model")))
            source = "imported run" if record.imported else "your run"
            note = "its noise has a known seed" if claim.demonstration else ""
            name = f"{record.title}, {model.short}" if model is not None else record.title
            yield Reached(name, source, shown.epsilon, shown.delta, shown.name, accuracy, accuracy, accuracy, 1, note)

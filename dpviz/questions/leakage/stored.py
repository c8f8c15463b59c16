"""The runs of this machine's store as networks: those that ended and kept their weights."""

import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dpviz._extras import MissingExtra
from dpviz.accounting.bayesian.accountant import NAME as BAYESIAN
from dpviz.questions.networks import RunNetwork
from dpviz.runs.claims import FINISHED, claim_of_record, settings_of
from dpviz.runs.engine import engine
from dpviz.runs.store.records import Chosen, RunRecord, StoreError


def finished_runs() -> Iterator[RunRecord]:
    """Newest first; none where the store cannot be read, or where the packages that record runs are not installed."""
    with suppress(StoreError, MissingExtra):
        yield from filter(weights_of, engine().each(Chosen(states=FINISHED)))


def finished_run(run: str) -> RunRecord | None:
    """The one of `finished_runs` with this id; None where it is not among them."""
    with suppress(StoreError, MissingExtra, KeyError):
        record = engine().run(run)
        return record if record.state in FINISHED and record.deleted is None and weights_of(record) else None
    return None


def weights_of(record: RunRecord) -> Path | None:
    """The file with a run's parameters; None where it kept none. A path that came with an imported run is not used."""
    path = engine().weights(record.id)
    written = record.summary.get("weights")
    if written and not record.imported and not path.is_file():
        path = Path(written)
    return path if path.is_file() else None


def of_run(record: RunRecord, examples: int = 2_000, seed: int = 0) -> RunNetwork:
    """A run with what may be claimed of it."""
    recorded, epsilons, settings = dict(record.settings), record.summary.get("epsilon"), settings_of(record)
    bayesian = None
    # Started again with other noise, a run has released more than its last attempt's reading says; noise that can be
    # replayed keeps nothing secret.
    secret = settings is not None and not record.restarts and settings.secure_noise
    if settings is not None and secret and isinstance(epsilons, dict) and BAYESIAN in epsilons:
        epsilon = epsilons[BAYESIAN]  # JSON: what is no number proves nothing
        bounded = isinstance(epsilon, int | float) and not math.isnan(epsilon)
        bayesian = float(epsilon) if bounded else math.inf, settings.bayesian_delta
    return RunNetwork(
        title=record.title,
        run=record.id,
        attempt=record.attempt,
        settings=recorded,
        weights=str(weights_of(record) or ""),
        examples=examples,
        seed=seed,
        claim=claim_of_record(record, engine().store),
        bayesian=bayesian,
    )

"""Mutated run files: each is refused in words, or every page shows it within bounds of time and memory.

python -m tools.attack.imports --count 2000 --seed 1
"""

import argparse
import os
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpviz.questions.leakage.stored import of_run
from dpviz.questions.train import script
from dpviz.questions.train.settings import texts_of
from dpviz.runs.claims import claim_of_view
from dpviz.runs.engine import Engine, engine
from dpviz.runs.exchange.checks import NotARun
from dpviz.runs.exchange.files import export_run, steps_csv, steps_parquet
from dpviz.runs.exchange.import_run import import_run
from dpviz.runs.store.records import OPEN, RunRecord
from dpviz.training.loop import FreeRun
from dpviz.training.loop import run as train
from dpviz.training.settings import RunSettings
from dpviz.training.values import Origin
from dpviz.ui import state
from dpviz.ui.runs import fields, listing, page
from dpviz.ui.runs.charts import draw, overlay
from dpviz.ui.runs.fields import CHARTS
from dpviz.ui.runs.report import bundle, html_report
from dpviz.ui.train.live import screen, take, tight_waiting
from tests.runs.exported import opened
from tests.ui.runs_made import TINY, events_of, record
from tools.attack.outcome import Outcome, TooLong, at_most, place, resident, rows
from tools.attack.run_files import spoilt

SECONDS = 10.0  # for one file: taking it in, and everything that is drawn of it
MEMORY = 3 << 30  # bytes of address space for one file; Arrow alone sets a gigabyte aside that it does not use
WHOLE_SECONDS = 900.0

KINDS: dict[str, RunSettings] = {
    "secret": TINY.with_(secure_noise=True),
    "seeded": TINY.with_(secure_noise=False),
    "private counts": TINY.with_(
        batch_size=1000, steps=8, target_accuracy=0.99, target_measure="private", count_every=1, count_noise=20.0
    ),
    "budget": TINY.with_(noise_multiplier=0.5, filter_epsilon=6.0, steps=40),
    "re-planned": TINY.with_(past_plan="replan", most_steps=9, steps=4, bayesian=True, pairs=4),
    "langevin": RunSettings(
        data="abalone", model="logistic", method="dp_sgld", batch_size=64, steps=6, learning_rate=0.1, threads=1
    ),
    "after another": TINY.with_(
        start_from="weights",
        origins=(
            Origin(run="a", name="Run 1", data="abalone", mechanisms=((1.0, 0.02, 50),), epsilon=1.0),
            Origin(run="b", name="Run 2", data="adult", unbounded="it was trained without noise"),
        ),
    ),
    "plain": TINY.with_(method="sgd"),
}


def originals(engine: Engine, kinds: dict[str, RunSettings] = KINDS) -> list[Any]:
    """Exported runs of every kind, as JSON trees; a failed and a restarted one among them."""
    found = []
    weights = str(engine.folder / "weights.pt")
    train(TINY, lambda event: None, FreeRun(), weights_to=weights)
    for asked in kinds.values():
        settings = asked if asked.start_from is None else asked.with_(start_from=weights)
        events = events_of(settings)
        found.append(record(engine, settings, events, note="a note"))
    last = events[-1].data | {"kind": "failed", "state": "failed", "text": "no", "traceback": "Traceback: x"}
    failed = [*events[:-1], events[-1]._replace(kind="failed", data=last)]
    found.append(record(engine, settings, failed, state="failed", reason="no", name="named"))
    return [opened(export_run(engine.store, run.id)) for run in found]


def show_everywhere(engine: Engine, run: RunRecord, sheets: Callable[[str], None] = lambda _: None) -> None:
    """Everything that any page draws, says or writes of a run; `sheets` is told what is next."""
    sheets("take")
    look = take(engine, run.id)
    until = time.monotonic() + SECONDS
    while tight_waiting(look.view) and time.monotonic() < until:
        time.sleep(0.005)
        look = take(engine, run.id)
    for chart in CHARTS:
        sheets(f"chart {chart}")
        draw(look, chart, 262)
    sheets("screen")
    assert screen(engine, run.id, ("epsilon", "accuracy")).update.mark
    sheets("listing")
    records = engine.runs()[:3]
    engine.store.listed(listing.chosen(state.reader("r_text=a")), page.PAGE)
    listing.table(records, listing.places(engine.states(OPEN)), engine.store)
    page._headline(len(records), 1, page.tested([run], engine.store))
    page._differences(records)
    views = [engine.look(other.id) for other in records]
    claims = [claim_of_view(view, engine.store) for view in views]
    for kind in fields.VIEW.options:
        for accountant in fields.ACCOUNTANT.options:
            sheets(f"overlay {kind} {accountant}")
            overlay(views, claims, kind, accountant)
    sheets("leakage")
    subject = of_run(run)
    assert all(bound.success >= 0.5 for bound in subject.bounds)
    sheets("python")
    if look.settings is not None:
        script.training(look.settings)
        texts_of(look.settings)
        script.accounting(look.view.final.get("mechanisms") or [], look.settings.delta)
    sheets("report")
    html_report(look.view, look.claim)
    sheets("csv")
    steps_csv(engine.store, run.id)
    sheets("parquet")
    steps_parquet(engine.store, run.id)
    sheets("bundle")
    bundle(engine.store, run.id)
    sheets("again")
    import_run(engine.store, export_run(engine.store, run.id))


def attack(
    engine: Engine, trees: list[Any], *, count: int, seed: int, seconds: float = WHOLE_SECONDS, each: float = SECONDS
) -> Outcome:
    """`count` mutants of the trees, as many as fit into `seconds`."""
    rng, found = random.Random(seed), Outcome()
    began, before = time.monotonic(), resident()
    for _ in range(count):
        if time.monotonic() - began > seconds:
            break
        content = spoilt(rng.choice(trees), rng)
        at, start, run = ["import"], time.monotonic(), None
        try:
            with at_most(each), within(MEMORY):
                run = import_run(engine.store, content)
                show_everywhere(engine, run, lambda what: at.__setitem__(0, what))  # noqa: B023
            found.harmless += 1
        except NotARun:
            if run is None:
                found.refused += 1
            else:  # its own export is no run
                found.broken["its own export is refused"] += 1
                found.examples.setdefault("its own export is refused", content)
        except (Exception, TooLong) as error:
            name = f"{at[0]}: {place(error)}"
            found.broken[name] += 1
            found.examples.setdefault(name, content)
        found.slowest = max(found.slowest, time.monotonic() - start)
        found.memory = max(found.memory, resident() - before)
        for old in engine.store.runs():
            engine.store.delete(old.id)
            engine.store.purge(old.id)
    return found


@contextmanager
def fresh() -> Iterator[Engine]:
    """An engine on an empty folder that starts no workers."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.environ.get("DPVIZ_HOME")
        os.environ["DPVIZ_HOME"] = folder
        made = engine()
        try:
            yield made
        finally:
            made.shutdown()
            if before is None:
                del os.environ["DPVIZ_HOME"]
            else:
                os.environ["DPVIZ_HOME"] = before


def whole(count: int = 2_000, seed: int = 1, seconds: float = WHOLE_SECONDS) -> Outcome:
    """The attack on a store of its own, with a bound on memory."""
    with fresh() as made:
        trees = originals(made)
        return attack(made, trees, count=count, seed=seed, seconds=seconds)


@contextmanager
def within(memory: int) -> Iterator[None]:
    """No more than so many bytes on top of what is reserved now, whatever made it."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def table(count: int = 2_000, seed: int = 1) -> str:
    """What came of it, as a Markdown section."""
    found = whole(count, seed)
    return (
        "## Mutated run files\n\n"
        f"Exports of {len(KINDS) + 1} kinds of runs with one to three places changed (types, sizes, signs, names, "
        "missing and double keys, nesting, markup), imported and shown by everything that shows a run.\n\n"
        + rows(found, "taken in, shown on every page and exported again")
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    print(table(asked.count, asked.seed))

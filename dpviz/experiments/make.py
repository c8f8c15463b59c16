"""The command that makes the records: ``make papers``, or ``python -m dpviz.experiments [KEY ...] [--jobs 2]``.

Each arm and seed is a run of its own, kept in `.papers/` as soon as it is there: stopped and called again, it goes on
with what is missing. When all of an experiment is there its record is written and the parts are removed, so that the
next call remakes it from nothing. What needs data that is not here is left out, and its record stays as it was.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path

from dpviz import _validate
from dpviz._processes import end_with_parent
from dpviz._version import __version__
from dpviz.experiments.catalogue import EXPERIMENTS
from dpviz.experiments.experiment import Experiment
from dpviz.experiments.record import COMMAND, ExperimentRecord, Trial, folder
from dpviz.training.data.base import DataUnavailable
from dpviz.training.files import whole_file
from dpviz.training.progress import duration

PARTS = Path(".papers")
JOBS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
Say = Callable[[str], None]


def part(experiment: Experiment, arm: str, seed: int, parts: Path) -> Path:
    """Where one trial is kept until all are there."""
    return parts / f"{experiment.key}.{arm}.{seed}.json"


def kept(experiment: Experiment, arm: str, seed: int, parts: Path) -> Trial | None:
    """A trial of an earlier call that was stopped; None where there is none of these settings and this version."""
    file = part(experiment, arm, seed, parts)
    if not file.exists():
        return None
    stored = json.loads(file.read_text(encoding="utf-8"))
    asked = _asked(experiment, arm)
    return Trial(**stored["trial"]) if stored["asked"] == asked else None


def _asked(experiment: Experiment, arm: str) -> dict[str, object]:
    return {"settings": dict(experiment.arms[arm]), "measure": experiment.measure, "version": __version__}


def keep(experiment: Experiment, trial: Trial, parts: Path) -> None:
    """Written beside and renamed: a part is whole or not there."""
    text = json.dumps({"asked": _asked(experiment, trial.arm), "trial": asdict(trial)}, allow_nan=False)
    with whole_file(part(experiment, trial.arm, trial.seed, parts)) as file:
        file.write(text.encode())


def finish(experiment: Experiment, parts: Path, into: Path) -> bool:
    """Write the record if all of it is there, and remove its parts."""
    stored = [kept(experiment, arm, seed, parts) for arm, seed in experiment.trials]
    trials = tuple(trial for trial in stored if trial is not None)
    if len(trials) < len(stored):
        return False
    settings = {arm: dict(settings) for arm, settings in experiment.arms.items()}
    record = ExperimentRecord(key=experiment.key, command=COMMAND, settings=settings, trials=trials)
    with whole_file(into / f"{experiment.key}.json") as file:
        file.write(record.to_text().encode())
    for arm, seed in experiment.trials:
        part(experiment, arm, seed, parts).unlink()
    return True


def make(
    experiments: Sequence[Experiment],
    *,
    jobs: int = JOBS,
    parts: Path = PARTS,
    into: Path | None = None,
    say: Say = print,
) -> bool:
    """Make the records of these experiments; whether all could be made.

    Args:
        experiments: Which.
        jobs: Processes at once.
        parts: Folder of what an earlier call left.
        into: Folder of the records, the package's if None.
        say: Called with a line whenever one trial is over.
    """
    into = into or folder()
    every = [(experiment, arm, seed) for experiment in experiments for arm, seed in experiment.trials]
    waiting = [trial for trial in every if kept(*trial, parts) is None]
    there = len(every) - len(waiting)
    clock = Clock(waiting, jobs, into)
    say(f"{len(waiting)} runs to make{f', {there} are kept from before' if there else ''}{clock.left(waiting)}.")

    def write(experiment: Experiment) -> None:
        if finish(experiment, parts, into):
            say(f"{into / experiment.key}.json is written.")

    for experiment in experiments:  # an earlier call may have been stopped just before
        write(experiment)
    failed = False
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=end_with_parent) as pool:
        todo: dict[Future[Trial], tuple[Experiment, str, int]] = {
            pool.submit(experiment.run, arm, seed): (experiment, arm, seed) for experiment, arm, seed in waiting
        }
        while todo:
            for future in wait(todo, return_when=FIRST_COMPLETED).done:
                experiment, arm, seed = todo.pop(future)
                name = f"{experiment.key}, {arm}, seed {seed}"
                problem = future.exception()
                if isinstance(problem, DataUnavailable):  # files of the user's: the record stays as it was
                    say(f"{name}: left out, {problem}")
                elif problem is not None:
                    failed = True
                    say(f"{name}: failed, {type(problem).__name__}: {problem}")
                else:
                    keep(experiment, trial := future.result(), parts)
                    clock.took(experiment, trial)
                    done = f"{len(waiting) - len(todo)} of {len(waiting)}"
                    say(f"{name}: {trial.seconds:.0f} s; {done}{clock.left(list(todo.values()))}.")
                    write(experiment)
    return not failed


class Clock:
    """Tells how long the rest takes: by what each arm took before, at the pace of this call."""

    def __init__(self, waiting: Sequence[tuple[Experiment, str, int]], jobs: int, into: Path) -> None:
        self._jobs, self._began, self._expected = jobs, time.monotonic(), 0.0
        self._usual: dict[tuple[str, str], float] = {}
        for experiment in {e.key: e for e, _, _ in waiting}.values():
            file = into / f"{experiment.key}.json"
            if file.exists():
                record = ExperimentRecord.from_text(file.read_text(encoding="utf-8"))
                self._usual |= {(record.key, t.arm): t.seconds for t in record.trials}

    def took(self, experiment: Experiment, trial: Trial) -> None:
        self._expected += self._usual.setdefault((experiment.key, trial.arm), trial.seconds)

    def left(self, waiting: Sequence[tuple[Experiment, str, int]]) -> str:
        """ ", about 12 min left", or nothing where that is not known."""
        known = [self._usual[e.key, arm] for e, arm, _ in waiting if (e.key, arm) in self._usual]
        if not known:
            return ""
        pace = (time.monotonic() - self._began) / self._expected if self._expected else 1.0 / self._jobs
        return f", {duration(sum(known) / len(known) * len(waiting) * pace)} left"


def chosen(keys: Sequence[str], known: Mapping[str, Experiment] = EXPERIMENTS) -> list[Experiment]:
    """The experiments of these names, all where there is none.

    Raises:
        ValueError: for a name that is none.
    """
    return [known[_validate.choice("experiment", key, tuple(known))] for key in keys or known]


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 where something failed."""
    parser = argparse.ArgumentParser("python -m dpviz.experiments", description="Make the records behind the figures.")
    which = f"experiments to run; default all: {', '.join(EXPERIMENTS)}"
    parser.add_argument("keys", nargs="*", metavar="KEY", help=which)
    parser.add_argument("--jobs", type=int, default=JOBS, help="parallel processes (default %(default)s)")
    given = parser.parse_args(arguments)
    try:
        began, good = time.monotonic(), make(chosen(given.keys), jobs=given.jobs, say=_told)
    except KeyboardInterrupt:
        print(f"Stopped. Finished runs are kept in {PARTS}/; the same command continues.", file=sys.stderr)
        return 1
    except ValueError as problem:
        print(f"dpviz: {problem}", file=sys.stderr)
        return 2
    _told(f"Done in {duration(time.monotonic() - began).removeprefix('about ')}.")
    return 0 if good else 1


def _told(line: str) -> None:
    print(line, flush=True)

"""Faults planted one at a time into a copy of the code: the test that must fail is run, and does or does not.

python -m benchmarks.evidence.planted_faults                 # all of `_faults`
python -m benchmarks.evidence.planted_faults claims.py       # those whose name, file or test holds the words
python -m benchmarks.evidence.planted_faults --from list.py  # the FAULTS of another file, to try new ones

What the named test misses is tried once more on the whole suite, but with --from.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from benchmarks.evidence._faults import FAULTS, Fault

ROOT = Path(__file__).parents[2]
CAUGHT = "caught"
# Without those that need a browser, and the one that looks for the sound text.
SUITE = ("tests", "--ignore=tests/browser", "--ignore=tests/test_planted_faults.py")


def copied(to: Path) -> None:
    """The files that git tracks, as they are now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, to / name)


class _Failures:
    """A pytest plugin that writes the names of tests that fail, and of files that cannot be read, into a pipe."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._tell(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._tell(report)

    def _tell(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed:
            os.write(self._pipe, f"{report.nodeid}\n".encode())


def first_failure(copy: Path, *tests: str) -> str:
    """The first of these tests that fails there; empty where all pass.

    They run in a child that has PyTorch already; bytecode is not kept, for edits follow one another within a second.
    """
    failures, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.chdir(copy)
        sys.path.insert(0, str(copy))
        sys.dont_write_bytecode = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        options = ["-q", "-x", "-p", "no:benchmark", "-p", "no:cacheprovider"]
        code = pytest.main([*options, *tests], plugins=[_Failures(writing)])
        os._exit(int(code))
    os.close(writing)
    with os.fdopen(failures, encoding="utf-8") as pipe:
        names = pipe.read().split("\n")
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if (code == 0) != (not names[0]):  # no such test, or the copy is broken
        raise RuntimeError(f"pytest {' '.join(tests)} could not run: exit status {code}.")
    return names[0]


def outcomes(faults: Sequence[Fault], *, whole: bool = True) -> list[str]:
    """For each fault the test that fails once it is planted, empty for none; every named test passes before.

    Args:
        faults: Each with the text it replaces, which its file holds once.
        whole: Whether the whole suite is run on what the named tests miss.
    """
    if "dpviz" in sys.modules:
        raise RuntimeError("Expected a process of its own, found dpviz imported: its copy could not be.")
    torch.set_num_threads(1)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        copied(copy)
        if failed := first_failure(copy, *dict.fromkeys(test for fault in faults for test in fault.test.split())):
            raise RuntimeError(f"Expected every test to pass before a fault is planted: {failed} fails.")
        for fault in faults:
            path = copy / fault.file
            sound = path.read_text(encoding="utf-8")
            if sound.count(fault.old) != 1:
                raise ValueError(f"Expected {fault.old!r} to occur once in {fault.file}.")
            path.write_text(sound.replace(fault.old, fault.new), encoding="utf-8")
            result, by_suite = first_failure(copy, *fault.test.split()), ""
            if not result and whole:
                result = by_suite = first_failure(copy, *SUITE)
            path.write_text(sound, encoding="utf-8")
            if by_suite and first_failure(copy, by_suite):
                raise RuntimeError(f"Expected {by_suite} to pass without a fault.")
            results.append(result)
            print(f"{fault.name}: {result or 'MISSED'}", file=sys.stderr, flush=True)
    return results


def table(faults: Sequence[Fault] = FAULTS) -> str:
    """A Markdown section."""
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    source = (
        "import json, sys; from benchmarks.evidence.planted_faults import Fault, outcomes; "
        "print(json.dumps(outcomes([Fault(*fault) for fault in json.load(sys.stdin)])))"
    )
    child = subprocess.run(
        [sys.executable, "-c", source], cwd=ROOT, env={**os.environ, **one_thread}, input=json.dumps(faults),
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    results: list[str] = json.loads(child.stdout)
    caught = Counter(fault.file for fault, result in zip(faults, results, strict=True) if result)
    planted = Counter(fault.file for fault in faults)
    others = [
        f"- {fault.name}, `{fault.file}`, {_code(fault.test)}: {verdict}"
        for fault, result in zip(faults, results, strict=True)
        if (verdict := _verdict(fault, result)) != CAUGHT
    ]
    return "\n".join(
        [
            "## Planted faults",
            "",
            f"{len(results) - results.count('')} of {len(results)} were caught. Each fault was planted alone into "
            "a copy of the code. The test that is named beside it in `benchmarks/evidence/_faults.py`, which passes "
            "without the fault, was run; if it missed the fault, the whole suite was run.",
            "",
            *([*others, ""] if others else []),
            "| file | planted | caught |",
            "|---|---|---|",
            *(f"| `{file}` | {count} | {caught[file]} |" for file, count in sorted(planted.items())),
        ]
    )


def _code(tests: str) -> str:
    """The functions' names, as code."""
    return ", ".join(f"`{test.split('::')[-1].split('[')[0]}`" for test in tests.split())


def _verdict(fault: Fault, failed: str) -> str:
    if not failed:
        return "**missed**"
    named = any(failed.startswith(test) for test in fault.test.split())
    return CAUGHT if named else f"caught by {_code(failed)} alone"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only faults whose name, file or test holds one of them")
    parser.add_argument("--from", dest="source", type=Path, help="a Python file with FAULTS of its own")
    chosen = parser.parse_args()
    faults = FAULTS if chosen.source is None else tuple(runpy.run_path(str(chosen.source))["FAULTS"])
    faults = tuple(
        fault for fault in faults if not chosen.words or any(word in " ".join(fault) for word in chosen.words)
    )
    if not faults:
        parser.error(f"expected one of {', '.join(chosen.words)} in a fault's name, file or test")
    if chosen.source is None:
        print(table(faults))
    else:
        results = outcomes(faults, whole=False)
        print(f"{len(results) - results.count('')} of {len(results)} caught")


if __name__ == "__main__":
    main()

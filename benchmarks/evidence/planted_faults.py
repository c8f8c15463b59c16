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
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from benchmarks.evidence._faults import FAULTS, Fault

ROOT = Path(__file__).parents[2]
SUITE = ("tests", "--ignore=tests/browser")
CAUGHT, BY_SUITE, MISSED = "caught", "caught by the whole suite", "**missed**"


def copied(to: Path) -> None:
    """The files that git tracks, as they are now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, to / name)


def passes(copy: Path, *tests: str) -> bool:
    """Whether pytest passes these tests there, in a child that has PyTorch already; bytecode is not kept, for edits
    follow one another within a second.
    """
    child = os.fork()
    if child == 0:
        os.chdir(copy)
        sys.path.insert(0, str(copy))
        sys.dont_write_bytecode = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = pytest.main(["-q", "-x", "-p", "no:benchmark", "-p", "no:cacheprovider", *tests])
        os._exit(int(code))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, 1, 2):  # neither passed nor failed: no such test, or the copy is broken
        raise RuntimeError(f"pytest {' '.join(tests)} could not run: exit status {code}.")
    return code == 0


def outcomes(faults: Sequence[Fault], *, whole: bool = True) -> list[str]:
    """For each fault CAUGHT, BY_SUITE or MISSED, once it is planted; every named test passes before.

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
        if not passes(copy, *dict.fromkeys(test for fault in faults for test in fault.test.split())):
            raise RuntimeError("Expected every test to pass before a fault is planted.")
        for fault in faults:
            path = copy / fault.file
            sound = path.read_text(encoding="utf-8")
            if sound.count(fault.old) != 1:
                raise ValueError(f"Expected {fault.old!r} to occur once in {fault.file}.")
            path.write_text(sound.replace(fault.old, fault.new), encoding="utf-8")
            result = MISSED if passes(copy, *fault.test.split()) else CAUGHT
            if result == MISSED and whole and not passes(copy, *SUITE):
                result = BY_SUITE
            results.append(result)
            print(f"{result}: {fault.name}", file=sys.stderr, flush=True)
            path.write_text(sound, encoding="utf-8")
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
    rows = [
        f"| {fault.name} | `{fault.file}` | {tests_in_words(fault)} | {result} |"
        for fault, result in zip(faults, results, strict=True)
    ]
    return "\n".join(
        [
            "## Planted faults",
            "",
            f"{len(results) - results.count(MISSED)} of {len(results)} were caught: each was planted alone into a copy "
            "of the code, and the test named beside it, which passes without it, was run; the whole suite, where that "
            "test missed it.",
            "",
            "| fault | file | test | |",
            "|---|---|---|---|",
            *rows,
        ]
    )


def tests_in_words(fault: Fault) -> str:
    """The functions that must fail, as code."""
    return ", ".join(f"`{test.split('::')[-1]}`" for test in fault.test.split())


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
        print(f"{results.count(CAUGHT)} of {len(results)} caught")


if __name__ == "__main__":
    main()

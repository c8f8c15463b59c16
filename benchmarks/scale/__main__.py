"""Writes docs/scale.md anew, after each part; one that fails is a row that says why, and the others follow.

python -m benchmarks.scale            # all of it, a quarter of an hour on two cores without other work
python -m benchmarks.scale viewers    # only the parts whose name holds the word; nothing is written
"""

import os
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from benchmarks.scale.parts import PARTS, Row

TARGET = Path(__file__).resolve().parents[2] / "docs" / "scale.md"
WORDS = 200  # characters that are told of an error
QUIET = 0.5  # load, up to which a machine has no other work
HEAD = """# Scale

Goals for large stores, long runs, many viewers, large tables of settings and a whole private step, beside what
`make bench-scale` measured. Each measurement is a process of its own; s and ms are seconds of its processor, with one
thread, unless a row says “waited”. MB are what a process grows by at its peak.
"""


def text(rows: list[Row], begun: str, took: dict[str, float]) -> str:
    """The page, as far as it was measured."""
    left = [name for name in PARTS if name not in took]
    lines = [HEAD, begun, "", "| what | goal | measured | met |", "| --- | --- | --- | --- |", *map(str, rows), ""]
    lines.append("Seconds of each part: " + ", ".join(f"{name} {seconds:.0f}" for name, seconds in took.items()) + ".")
    return "\n".join(lines) + "\n" + (f"\nNot measured, for it was ended before: {', '.join(left)}.\n" if left else "")


def all_rows(name: str) -> Iterator[Row]:
    """The rows of a part, the last of which says why where it failed."""
    try:
        yield from PARTS[name]()
    except Exception as error:
        traceback.print_exc()
        why = " ".join(f"{type(error).__name__}: {error}".split())[-WORDS:].replace("|", "/")
        yield Row(name, "–", f"failed: {why}", False)


def main(word: str = "") -> None:
    chosen = [name for name in PARTS if word in name]
    if not chosen:
        sys.exit(f"Expected {word!r} to be in one of {', '.join(PARTS)}.")
    load = os.getloadavg()[0]
    other = "no other work" if load <= QUIET else f"other work (load {load:.1f} before)"
    begun = f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, {other}."
    rows: list[Row] = []
    took: dict[str, float] = {}
    print(begun, flush=True)
    for name in chosen:
        start = time.monotonic()
        for row in all_rows(name):
            rows.append(row)
            print(row, flush=True)
        took[name] = time.monotonic() - start
        if not word:
            TARGET.write_text(text(rows, begun, took))
    if any(row.found.startswith("failed:") for row in rows):
        sys.exit("A part failed.")


if __name__ == "__main__":
    main(*sys.argv[1:2])

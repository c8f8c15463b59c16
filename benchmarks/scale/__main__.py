"""Writes docs/work/scale.md: a section for each part, with the day and the load it was measured under.

python -m benchmarks.scale            # all parts, a quarter of an hour on two cores without other work
python -m benchmarks.scale watched    # the parts whose name holds the word; the other sections stay as they are

A section is written as soon as its part is measured. A part that fails is a row that says why, and the others follow.
"""

import os
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.scale.parts import PARTS, Row

TARGET = Path(__file__).resolve().parents[2] / "docs" / "work" / "scale.md"
WORDS = 200  # characters that are told of an error
QUIET = 0.5  # load, up to which a machine has no other work
SECTION = "\n## "
HEAD = """# Scale

Goals for large stores, long runs, many viewers, large tables of settings and a whole private step, beside what
`make bench-scale` measured. Each measurement is a process of its own; s and ms are seconds of its processor, with one
thread, unless a row says “waited”. MB are what a process grows by at its peak. Each section says when it was measured,
and the load of the machine: how many processes ran or waited for a core.
"""


def title(part: str) -> str:
    """The heading of a part: "runs_page" as "Runs page"."""
    return part.replace("_", " ").capitalize()


def sections(page: str) -> dict[str, str]:
    """The text of each section of a page, by its heading."""
    _, *found = page.split(SECTION)
    return {heading: text.strip() for heading, _, text in (one.partition("\n") for one in found)}


def written(texts: Mapping[str, str]) -> str:
    """A page of sections by heading, in the order of the parts; what is no part is left out."""
    named = [(heading, texts[heading]) for heading in map(title, PARTS) if heading in texts]
    return HEAD + "".join(f"{SECTION}{heading}\n\n{text}\n" for heading, text in named)


def all_rows(name: str) -> Iterator[Row]:
    """The rows of a part, the last of which says why where it failed."""
    try:
        yield from PARTS[name]()
    except Exception as error:
        traceback.print_exc()
        why = " ".join(f"{type(error).__name__}: {error}".split())[-WORDS:].replace("|", "/")
        yield Row(name, "–", f"failed: {why}", False)


def measured(name: str) -> tuple[str, bool]:
    """The section of a part, which is printed row by row, and whether it failed."""
    start, before = time.monotonic(), os.getloadavg()[0]
    rows = []
    for row in all_rows(name):
        rows.append(row)
        print(row, flush=True)
    load = (
        "no other work" if before <= QUIET else f"other work (load {before:.1f} before, {os.getloadavg()[0]:.1f} after)"
    )
    when = f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, {load}; {time.monotonic() - start:.0f} s in all."
    lines = [when, "", "| what | goal | measured | met |", "| --- | --- | --- | --- |", *map(str, rows)]
    return "\n".join(lines), any(row.found.startswith("failed:") for row in rows)


def main(word: str = "") -> None:
    chosen = [name for name in PARTS if word in name]
    if not chosen:
        sys.exit(f"Expected {word!r} to be in one of {', '.join(PARTS)}.")
    failed = []
    for name in chosen:
        print(f"## {title(name)}", flush=True)
        text, broken = measured(name)
        failed += [name] if broken else []
        TARGET.write_text(written(sections(TARGET.read_text()) | {title(name): text}))
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}.")


if __name__ == "__main__":
    main(*sys.argv[1:2])

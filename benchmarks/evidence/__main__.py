"""Writes docs/work/evidence.md anew: what was tried against the library's promises, and how often they broke.

python -m benchmarks.evidence            # all of it, about ten minutes on two cores
python -m benchmarks.evidence coverage   # only the parts whose name holds the word; nothing is written
"""

import importlib
import pkgutil
import sys
import time
from datetime import date
from pathlib import Path

import benchmarks.evidence as here

TARGET = Path(__file__).resolve().parents[2] / "docs" / "work" / "evidence.md"
HEAD = """# Evidence

Tests of the claims behind the numbers, with counts. `make evidence` writes every table from fixed seeds; nothing
here is typed in by hand. Made on {today}.
"""


def parts() -> list[str]:
    """Names of the modules that have a table, in the order of the alphabet."""
    return sorted(module.name for module in pkgutil.iter_modules(here.__path__) if not module.name.startswith("_"))


def main(word: str = "") -> None:
    chosen = [name for name in parts() if word in name]
    if not chosen:
        sys.exit(f"Expected {word!r} to be in one of {', '.join(parts())}.")
    sections = []
    for name in chosen:
        began = time.monotonic()
        sections.append(importlib.import_module(f"benchmarks.evidence.{name}").table().strip())
        print(f"{sections[-1]}\n\n({name}: {time.monotonic() - began:.0f} s)\n", flush=True)
    if not word:
        TARGET.parent.mkdir(exist_ok=True)
        TARGET.write_text("\n\n".join([HEAD.format(today=date.today().isoformat()).strip(), *sections]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:2])

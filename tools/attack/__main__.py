"""All attacks, one after the other: ``python -m tools.attack [name …]`` writes docs/work/attacks.md.

Every module of this package that has a `table()` is an attack. Each runs in a process of its own and is ended after
MINUTES; with names only those run, and the page keeps the sections of the others.
"""

import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs" / "work" / "attacks.md"
MINUTES = 16.0

HEAD = """# Attacks and what came of them

`make attack` runs every attack of `tools/attack` again (some twenty minutes) and writes this page;
`python -m tools.attack links` runs one and renews its section. The attacks are seeded. Times and memory are those of
the machine, with whatever else ran on it: the load says how much.
"""


def attacks() -> list[str]:
    """Names of the modules that have a `table()`."""
    return sorted(path.stem for path in HERE.glob("*.py") if "\ndef table(" in path.read_text(encoding="utf-8"))


def section(name: str, minutes: float = MINUTES) -> str:
    """What one attack printed; in words where it failed or took too long."""
    process = subprocess.Popen(
        [sys.executable, "-m", f"tools.attack.{name}"],
        cwd=HERE.parents[1],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that whatever it started ends with it
    )
    try:
        said, _ = process.communicate(timeout=60.0 * minutes)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"## {name.capitalize()}\n\nEnded after {minutes:g} minutes without an answer."
    if process.returncode:
        return f"## {name.capitalize()}\n\nThe attack itself failed with exit status {process.returncode}."
    return said.strip()


def page(before: str, parts: Sequence[str]) -> str:
    """The page with these sections in the place of those with the same headings; new ones stand at the end."""
    sections = [text.strip() for text in before.split("\n## ")[1:]] + [part.removeprefix("## ") for part in parts]
    return "\n\n## ".join([HEAD.strip(), *{text.partition("\n")[0]: text for text in sections}.values()]) + "\n"


def main(names: list[str]) -> None:
    parts = []
    for name in names or attacks():
        print(f"{name} …", file=sys.stderr, flush=True)
        load, begun = os.getloadavg()[0], time.monotonic()
        took = f"{section(name)}\n\nTook {time.monotonic() - begun:.0f} s on {datetime.now(UTC):%Y-%m-%d}, "
        parts.append(f"{took}Python {platform.python_version()}, {os.cpu_count()} cores, load {load:.1f} before.")
        print(parts[-1], end="\n\n", flush=True)
    DOCS.write_text(page(DOCS.read_text(encoding="utf-8") if names else "", parts), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

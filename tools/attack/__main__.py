"""All attacks, one after the other: ``python -m tools.attack [name …]`` writes docs/attacks.md.

Every module of this package that has a `table()` is an attack. Each runs in a process of its own and is ended after
MINUTES; with names only those run, and their sections alone are printed.
"""

import os
import platform
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs" / "attacks.md"
MINUTES = 16.0

HEAD = """# Attacks and what came of them

Made by `make attack`, which runs every attack of `tools/attack` again (some twenty minutes) and writes this page. The
attacks are seeded; times and memory are those of the machine.
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


def main(names: list[str]) -> None:
    parts = []
    for name in names or attacks():
        print(f"{name} …", file=sys.stderr, flush=True)
        begun = time.monotonic()
        parts.append(f"{section(name)}\n\nTook {time.monotonic() - begun:.0f} s.")
        print(parts[-1], end="\n\n", flush=True)
    if not names:
        made = f"Made {datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {os.cpu_count()} cores."
        DOCS.write_text("\n\n".join([HEAD.strip(), made, *parts]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

"""The host of the workers, of which all but the first hang while they load, as on a machine that is too busy."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from dpviz.runs import host

started: list[list[str]] = []
begin = subprocess.Popen


def hanging(command: list[str], **options: Any) -> Any:
    started.append(command)
    return begin(command if len(started) == 1 else [sys.executable, "-c", "import time; time.sleep(600)"], **options)


if __name__ == "__main__":
    subprocess.Popen = hanging  # type: ignore[misc,assignment]
    host.main()

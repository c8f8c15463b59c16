"""The host of the workers, of which all but the first hang while they load, as on a machine that is too busy."""

import subprocess
import sys
from typing import Any

from dpviz.runs.cluster import host

started: list[object] = []
begin = subprocess.Popen


class Hanging(begin):  # type: ignore[type-arg,misc]
    """A process as asked for; but of workers only the first."""

    def __init__(self, command: Any, **options: Any) -> None:
        if "dpviz.runs.cluster.worker" in command:
            started.append(command)
            if len(started) > 1:
                command = [sys.executable, "-c", "import time; time.sleep(600)"]
        super().__init__(command, **options)


if __name__ == "__main__":
    subprocess.Popen = Hanging  # type: ignore[misc,assignment]
    host.main()

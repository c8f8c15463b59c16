"""Moments of a run that later ones follow, also when somebody sets the clock meanwhile.

A run's anchor says what the wall clock showed when it was created and where the monotonic clock stood: every later
moment of it is told from there, by whichever process of this machine, so that differences are true durations.
"""

from __future__ import annotations

import json
import time

from dpviz.runs.cluster.processes import this_machine


def anchor() -> str:
    """Where this machine's two clocks stand now."""
    return json.dumps({"machine": this_machine(), "offset": time.time() - time.monotonic()})


def moment(anchored: str, earliest: float) -> float:
    """Now, in seconds since 1970 as the anchor counts them; the wall clock's, never before `earliest`, where the
    anchor is another machine's or from before a restart of this one."""
    held = json.loads(anchored) if anchored else {}
    if held.get("machine") == this_machine():
        return max(earliest, float(held["offset"]) + time.monotonic())
    return max(earliest, time.time())

"""How far the local workers have come while they start, in words for a page."""

from __future__ import annotations

from dataclasses import dataclass, field

# What a phase that a worker tells of is called while people wait for it.
PHASES = {"loading": "loading PyTorch", "connecting": "connecting"}
# Stages of a start: Dask, Python, then these.
ORDER = tuple(PHASES)
STAGES = 2 + len(ORDER)


@dataclass(slots=True)
class Start:
    """One start of `workers` worker processes, begun at `begun` on the monotonic clock.

    Attributes:
        scheduler: Whether the scheduler is up.
        phases: Latest phase by process id: "loading", "connecting", "up"; "ended" by a fault, "replaced" on purpose.
    """

    workers: int
    begun: float
    scheduler: bool = False
    phases: dict[int, str] = field(default_factory=dict)

    def told(self, worker: int, phase: str, now: float) -> None:
        if phase in ("ended", "replaced") and self.up <= 1:
            self.begun = now  # from here on the next one is waited for
        self.phases[worker] = phase

    @property
    def up(self) -> int:
        return sum(phase == "up" for phase in list(self.phases.values()))

    @property
    def failed(self) -> int:
        """How many workers have ended."""
        return sum(phase == "ended" for phase in list(self.phases.values()))

    @property
    def stage(self) -> int:
        """How far the foremost worker is, from 1 to STAGES."""
        known = [ORDER.index(phase) for phase in list(self.phases.values()) if phase in ORDER]
        return 3 + max(known) if known else 1 + self.scheduler

    def words(self, now: float) -> str:
        """What a run would wait for at time `now`; "" once a worker is up."""
        if self.up:
            return ""
        waited = f"The workers are starting, {now - self.begun:.0f} s so far:"
        phases = list(self.phases.values())
        counts = {phase: phases.count(phase) for phase in ("loading", "connecting")}
        coming = [f"{count} of {self.workers} {PHASES[phase]}" for phase, count in counts.items() if count]
        what = ", ".join(coming) or ("Python starts" if self.scheduler else "loading Dask")
        again = f" {self.failed} ended and was started again." if self.failed else ""
        return f"{waited} {what} (stage {self.stage} of {STAGES}).{again}"

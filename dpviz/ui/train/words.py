"""A run in words: the headline, the four figures, what must be said beside it. The sentences are in `words.toml`."""

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.bayesian.accountant import NAME as BAYESIAN
from dpviz.accounting.claims import SHORT, Claim
from dpviz.fields import numbers
from dpviz.questions import words
from dpviz.questions.answer import Metric, Note
from dpviz.questions.tight_band import TightBand
from dpviz.questions.train.plan import PlannedCost
from dpviz.runs.claims import last_reading, why_unknown
from dpviz.runs.exchange.disputes import IMPORTED, dispute_words
from dpviz.runs.store.records import RunRecord
from dpviz.runs.views import RunView
from dpviz.training.accounts.claims import neighbours
from dpviz.training.accounts.origins import beside, conditions_of_start
from dpviz.training.data.own.place import data_of, is_own
from dpviz.training.methods import METHODS
from dpviz.training.models import RECORDED
from dpviz.training.samplers import SAMPLERS
from dpviz.training.settings import RunSettings
from dpviz.training.summary import below_majority
from dpviz.ui.runs.fields import STATE_WORDS

EMPTY: Array = np.empty(0)
LONG = 200  # characters of a reason that is no part of a sentence any more
_ROOM = str(Path(__file__).parent)


@dataclass(frozen=True, eq=False)
class Look:
    """A run at one moment, with all that is said of it.

    Attributes:
        view: what was recorded.
        settings: of the run; None where it is not one of ours.
        plan: what its plan costs.
        tight: the tight interval so far, a reading as if its end were planned.
        claim: the ε that may be said if it ends here, or of a run that has ended.
        ahead: how many runs go before it while it waits.
    """

    view: RunView
    settings: RunSettings | None
    plan: PlannedCost | None
    tight: TightBand | None
    claim: Claim
    ahead: int = 0

    @property
    def record(self) -> RunRecord:
        return self.view.record

    @property
    def total(self) -> int:
        """The step after which the run ends whatever happens; what it has done where that is not known."""
        return self.settings.last_step if self.settings is not None else max(self.record.steps, 1)

    @property
    def as_planned(self) -> bool:
        """Whether the run keeps, or kept to its end, to mechanisms that were fixed ahead."""
        settings = self.settings
        if settings is None or settings.adaptive or settings.past_plan != "stop":
            return False
        return not self.record.over or self.view.final.get("reason") == "plan"

    @property
    def interval(self) -> TightBand | None:
        """The tight interval: of the plan while it is followed, else of what was done had that been planned."""
        return self.plan.tight if self.plan is not None and self.as_planned else self.tight

    def last(self, name: str) -> float:
        """The last value of an evaluation's quantity; NaN where there is none."""
        values = self.view.evaluations.get(name, EMPTY)
        return float(values[-1]) if values.size else math.nan

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What the sentences are made of."""
        own = ("record", "view", "ahead", "total", "settings", "claim", "plan", "interval")
        given = {name: getattr(self, name) for name in own}
        return given | _of_record(self) | _of_claim(self) | _of_steps(self) | _of_settings(self)


def _of_record(look: Look) -> dict[str, Any]:
    record, view = look.record, look.view
    phase: str = "over" if record.over else record.state
    if phase in ("running", "paused") and not view.started:
        phase = "starting"
    reason = record.reason if len(record.reason) <= LONG else ""  # then it is said below
    why = reason if record.state in ("failed", "lost") else ""
    if record.state in ("done", "stopped") and view.final.get("reason") not in (None, "plan", "stopped"):
        why = str(view.final.get("text", ""))[:LONG]
    seconds = view.final.get("seconds")
    return {
        "phase": phase,
        "state": STATE_WORDS[record.state],
        "begun": record.state != "queued" and bool(view.started or view.final),
        "reason": reason,
        "why": why,
        "took": duration(float(seconds)) if isinstance(seconds, (int, float)) else "",
        "long_reason": record.reason if record.over and not reason else "",
        "disputes": dispute_words(view.disputes) if view.disputes else "",
        "imported": IMPORTED,
        "unknown": why_unknown(record),
        "planned_end": view.final.get("reason") == "plan",
    }


def _of_claim(look: Look) -> dict[str, Any]:
    settings, claim, shown = look.settings, look.claim, look.claim.shown
    private = settings is not None and settings.private
    reading = last_reading(look.view, BAYESIAN)
    bayesian = settings is not None and settings.bayesian and math.isfinite(reading)
    return {
        "secret": SAMPLERS[settings.sampler if settings else "poisson"].kind.adjacency.secret,
        "private": private,
        "plain": settings is not None and not private,
        "released": private and look.record.steps > 0,
        "shown": shown,
        "covers": SHORT[claim.covers],
        "in_words": in_words(claim),
        "beside": beside(settings) if settings is not None and private else "",
        "conditions": conditions_of_start(settings) if settings is not None and private else (),
        "planned": look.plan is not None and look.as_planned,
        "reading": reading,
        "bayesian": bayesian,
        # Norms bound what adding or removing one example changes.
        "bounded": settings is not None
        and bayesian
        and settings.bayesian_distances == "norms"
        and shown.holds
        and shown.delta <= settings.bayesian_delta
        and shown.epsilon < reading,
    }


def _of_steps(look: Look) -> dict[str, Any]:
    view, record = look.view, look.record
    posterior, test = look.last("posterior_accuracy"), look.last("test_accuracy")
    accuracy = test if math.isnan(posterior) else posterior
    tested, majority = look.last("step"), view.started.get("majority")
    recent = view.steps.get("seconds", EMPTY)[-20:]
    seconds = float(np.nanmean(recent)) if recent.size else math.nan
    left = seconds * (look.total - record.steps)
    watched = bool(view.noise) and view.noise.get("step") == record.steps
    drawn, clipped = (view.steps.get(name, EMPTY)[-1:] for name in ("batch_size", "clipped"))
    return {
        "accuracy": accuracy,
        "posterior": not math.isnan(posterior),
        "test": test,
        "train": look.last("train_accuracy"),
        "tested": tested,
        "tests": view.evaluations.get("step", EMPTY).tolist(),
        "majority": majority,
        "warning": below_majority(accuracy, majority) if tested > 0 else "",
        "seconds": seconds,
        "left": "" if record.over or not left > 0 else duration(left),
        "drawn": float(drawn[0]) if watched and drawn.size else None,
        "clipped": float(clipped[0]) if clipped.size else math.nan,
        "signal": float(view.noise.get("signal", math.nan)),
        "noise": float(view.noise.get("noise", math.nan)),
    }


def _of_settings(look: Look) -> dict[str, Any]:
    settings, started = look.settings, look.view.started
    if settings is None:
        return {"example": "test examples", "own_data": False}
    data = data_of(settings.data)
    count = data.parameters.get(settings.model) if settings.trained == RunSettings.trained else None
    return {
        "example": data.example,
        "sampler": SAMPLERS[settings.sampler].label,
        "neighbours": neighbours(settings),
        "own_data": is_own(settings.data),
        "data": data.title,
        "method": METHODS[settings.method].label,
        "model": RECORDED[settings.model].title,
        "parameters": count or started.get("parameters"),
        "threads": started.get("threads", 1),
    }


def headline(look: Look) -> str:
    """What the run has come to, as HTML."""
    return " ".join(row["text"] for row in words.rows(_ROOM, "headline", look.facts))


def figures(look: Look) -> list[Metric]:
    """The four figures below the charts."""
    return [Metric(**row) for row in words.rows(_ROOM, "figures", look.facts)]


def notes(look: Look, problem: str) -> list[Note]:
    """What must be said beside the charts, the most pressing first; `problem` is the engine's."""
    problems = [text for text in (look.facts["long_reason"], problem, look.facts["disputes"]) if text]
    return [Note(**row) for row in words.rows(_ROOM, "notes", look.facts | {"problems": problems})]


def setting_line(look: Look) -> str:
    """Data, model, device, noise source, assumption, and when the model was tested, in one quiet line."""
    return " · ".join(row["text"] for row in words.rows(_ROOM, "setting", look.facts))


def duration(seconds: float) -> str:
    """ "0.4 s", "42 s", "3 min 20 s"."""
    if seconds < 99.5:
        return f"{seconds:.{int(seconds < 9.95)}f} s"
    return f"{int(seconds + 0.5) // 60} min {int(seconds + 0.5) % 60} s"


def in_words(claim: Claim) -> str:
    """A claim in a few words, wherever there is little room."""
    shown = claim.shown
    if not shown.holds:
        return shown.reason
    whose = ", for one person" * (shown.unit == "person")
    bound = f"ε ≤ {numbers.epsilon(shown.epsilon, up=True)} ({shown.name}, {SHORT[shown.covers]}{whose})"
    return f"its noise can be replayed; with secret noise {bound}" if claim.demonstration else bound

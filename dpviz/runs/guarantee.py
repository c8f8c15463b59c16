"""The guarantee card of a run: what its record shows, and no more."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from dpviz._version import __version__
from dpviz.accounting.claims import Claim, rounded_up
from dpviz.accounting.guarantee import NO, UNKNOWN, YES, Guarantee, Losses, Reply, losses_of
from dpviz.accounting.pld.accountant import Tight
from dpviz.mechanisms import Event, merge_events
from dpviz.runs.claims import settings_of
from dpviz.runs.store.records import RunRecord
from dpviz.runs.views import RunView
from dpviz.training.accounts.claims import MOST_DIFFERENT, assumptions, everything_planned, neighbours
from dpviz.training.accounts.origins import spent_before
from dpviz.training.data.own.place import is_own
from dpviz.training.events import UNPROTECTED
from dpviz.training.methods import METHODS
from dpviz.training.models import MODELS
from dpviz.training.samplers import SAMPLERS
from dpviz.training.settings import RunSettings

TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def others_on_the_same_data(record: RunRecord, records: Iterable[RunRecord]) -> int:
    """How many other runs that took a step share the data of a run, but for those that it starts from and counts."""
    origins = record.settings.get("origins") or ()
    counted = {record.id, *(origin["run"] for origin in origins if isinstance(origin, dict))}
    data = record.settings.get("data")
    return sum(each.settings.get("data") == data and each.steps > 0 and each.id not in counted for each in records)


def guarantee_of_run(
    view: RunView, claim: Claim, *, others: int | None = None, measured: bool | None = None
) -> Guarantee:
    """The guarantee card of a run.

    Args:
        view: the run.
        claim: what may be said of it.
        others: how many other runs on the same data its store holds (`others_on_the_same_data`); None where nobody
            looked.
        measured: whether the page that shows the card holds what was measured on the training data; None where there
            is no such page.
    """
    record, settings = view.record, settings_of(view.record)
    if settings is None:
        return Guarantee(losses=_losses(claim, ()), statements={"deployment": {"name": record.title}})
    examples = int(view.started.get("examples") or 0)
    planned: tuple[Event, ...] = ()
    if settings.private and not settings.adaptive and examples:
        planned = merge_events((*spent_before(settings), *everything_planned(settings, examples)))
    values = {
        "name": record.title,
        "unprotected": str(view.started.get("unprotected") or UNPROTECTED),
        "data": str(view.started.get("data") or settings.data),
        "unit": settings.unit,
        "neighbours": neighbours(settings),
        "accountant": claim.shown.name,
        "version": __version__,
        "sampler": SAMPLERS[settings.sampler].assumption,
        "mechanisms": ", ".join(f"{count:,} × {mechanism.text}" for mechanism, count in planned[:6]) or "no plan",
        "covers": claim.coverage,
        "method": METHODS[settings.method].label,
        "model": str(view.started.get("model") or settings.model),
        "clip": f"{settings.max_grad_norm:g}",
        "size": f"{examples:,}" if examples else UNKNOWN,
        "assumptions": " ".join((*assumptions(settings), *claim.shown.conditions)),
        "others": f"{others or 0:,}",
    }
    replies = _replies(settings, record, claim, others, measured) if settings.private else {}
    answers = {name: Reply(answer, TEXTS["shown"][words].format(**values)) for name, (answer, words) in replies.items()}
    if examples and settings.private:
        product = settings.delta * examples * (1.0 - 1e-12)
        answers["delta"] = Reply(YES if product < 1.0 - 1e-12 else NO, f"δ·N = {rounded_up(product, 3):.3g}")
    statements = {
        group: {name: text.format(**values) for name, text in entries.items()}
        for group, entries in TEXTS["statements"].items()
    }
    covered = planned if claim.covers == "plan" else ()
    return Guarantee(losses=_losses(claim, covered), statements=statements, replies=answers)


def _losses(claim: Claim, planned: tuple[Event, ...]) -> Losses:
    """The claim's numbers; the curve and μ of the whole plan where they are what the claim was read from."""
    if not claim.holds:
        shown = claim.shown
        secret = f"; with secret noise ε ≤ {rounded_up(shown.epsilon, 6):.6g} at δ = {shown.delta:.6g}"
        return Losses(epsilon=math.inf, delta=claim.delta, why=claim.reason + secret * shown.holds)
    losses = Losses(epsilon=claim.epsilon, delta=claim.delta)
    if planned and claim.accountant == Tight.name and len(planned) <= MOST_DIFFERENT:
        whole = losses_of(planned, claim.delta)
        losses = whole if whole.epsilon == claim.epsilon else losses
    return replace(losses, epsilon_lower=claim.lower, attack_accuracy=claim.guess)


def _replies(
    settings: RunSettings, record: RunRecord, claim: Claim, others: int | None, measured: bool | None
) -> dict[str, tuple[str, str]]:
    """Pitfall → its answer and what shows it, by its key in the texts."""
    if record.imported:
        shown = dict.fromkeys(("sampler", "clipping", "scale", "preprocessing", "stopping", "noise"), "imported")
        return {"adjacency": (YES, "adjacency")} | {name: (UNKNOWN, words) for name, words in shown.items()}
    own = is_own(settings.data) or settings.model not in MODELS
    replies = {name: (YES, name) for name in ("adjacency", "sampler", "clipping", "scale")}
    replies["preprocessing"] = (UNKNOWN, "preprocessing_own") if own else (YES, "preprocessing")
    replies["stopping"] = (YES, "stopping") if claim.shown.holds else (UNKNOWN, "nothing")
    replies["metrics"] = {None: (UNKNOWN, "metrics"), True: (NO, "metrics_in"), False: (YES, "metrics_kept")}[measured]
    if others is not None:
        replies["models"] = (NO, "models") if others else (UNKNOWN, "no_models")
        replies |= {"tuning": (UNKNOWN, "tuning")} if others else {}
    if settings.model in MODELS and settings.start_from is None:
        replies["pretraining"] = YES, "pretraining"
    elif settings.origins and all(origin.data == settings.data for origin in settings.origins) and not own:
        replies["pretraining"] = YES, "pretraining_counted"
    if settings.by_person:
        replies["rows"] = YES, "rows"
    replies["noise"] = NO, "noise_generator" if settings.secure_noise else "noise_seed"
    return replies

"""The guarantee card of a run: what its record shows, and no more."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from dpviz._version import __version__
from dpviz.accounting.claims import TOLD, Claim, rounded_up
from dpviz.accounting.guarantee import Losses, below_one_over, losses_of
from dpviz.accounting.pld.accountant import Tight
from dpviz.mechanisms import Event, merge_events
from dpviz.questions.guarantee.card import Guarantee, Reply
from dpviz.questions.guarantee.words import NO, UNKNOWN, YES
from dpviz.runs.claims import settings_of, told_settings_of, trained_on
from dpviz.runs.store.records import RunRecord
from dpviz.runs.told.settings import SAMPLERS as TOLD_SAMPLERS
from dpviz.runs.told.settings import UNPROTECTED as TOLD_UNPROTECTED
from dpviz.runs.told.settings import ToldSettings
from dpviz.runs.told.settings import assumptions as told_assumptions
from dpviz.runs.views import RunView
from dpviz.training.accounts.claims import MOST_DIFFERENT, assumptions, everything_planned, neighbours
from dpviz.training.accounts.origins import spent_before
from dpviz.training.covered import UNPROTECTED
from dpviz.training.data.own.place import is_own
from dpviz.training.methods import METHODS
from dpviz.training.models import MODELS, RECORDED
from dpviz.training.samplers import SAMPLERS, read
from dpviz.training.settings import RunSettings
from dpviz.training.values import OWN_DATA


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
    if terms := told_settings_of(record):
        return _of_told(view, terms, claim)
    if settings is None:
        return Guarantee(losses=_losses(claim, ()), statements={"deployment": {"name": record.title}})
    examples, settings = _examples(view), trained_on(settings, view.started)
    planned = _planned(settings, examples)
    replies = _replies(settings, view, claim, others, measured) if settings.private else {}
    if examples and settings.private:
        product = f"δ·N = {rounded_up(settings.delta * examples * (1.0 - 1e-12), 3):.3g}"
        replies["delta"] = Reply(YES if below_one_over(examples, settings.delta) else NO, product)
    return Guarantee(
        losses=_losses(claim, planned if claim.covers == "plan" else ()),
        statements=_statements(view, settings, claim, planned),
        replies=replies,
    )


def _of_told(view: RunView, terms: ToldSettings, claim: Claim) -> Guarantee:
    """The card of a run whose steps a program told: what rests on its word is not known here."""
    charged = merge_events(map(read, view.spent))
    steps = ", ".join(f"{count:,} × {mechanism.text}" for mechanism, count in charged[:6]) or "no step"
    sampler, adjacency = TOLD_SAMPLERS[terms.sampler].assumption, terms.neighbours
    product = f"δ·N = {rounded_up(terms.delta * terms.examples * (1.0 - 1e-12), 3):.3g}"
    word = f"{TOLD}; dpviz did not see it"
    unseen = ("adjacency", "sampler", "clipping", "scale", "noise", "stopping")
    return Guarantee(
        losses=_losses(claim, ()),
        statements={
            "deployment": {"name": view.record.title},
            "release": {"unprotected_quantities": TOLD_UNPROTECTED},
            "dp_flavor": {"name": "approximate DP: (ε, δ)"},
            "privacy_loss": {"privacy_unit": "one example", "privacy_unit_description": adjacency.name},
            "accounting": {
                "accountant": claim.name,
                "version": f"dpviz {__version__}",
                "sampler": sampler,
                "composition": f"{TOLD}: {steps}",
                "covers": claim.coverage,
                "tuning": "not counted: ε is that of the told steps",
            },
            "implementation": {
                "mechanisms": f"Gaussian noise on clipped sums, {TOLD}",
                "sampler_as_run": f"not known; {word}",
                "size": f"{terms.examples:,}",
                "assumptions": " ".join((*told_assumptions(terms), *claim.conditions)),
            },
        },
        replies=dict.fromkeys(unseen, Reply(UNKNOWN, word))
        | {"delta": Reply(YES if below_one_over(terms.examples, terms.delta) else NO, product)},
    )


def _statements(
    view: RunView, settings: RunSettings, claim: Claim, planned: tuple[Event, ...]
) -> dict[str, dict[str, str]]:
    started = view.started
    steps = ", ".join(f"{count:,} × {mechanism.text}" for mechanism, count in planned[:6]) or "no plan"
    sampler, model = SAMPLERS[settings.sampler].assumption, started.get("model") or settings.model
    return {
        "deployment": {"name": view.record.title, "data_product_type": "machine learning model"},
        "release": {
            "description": "parameters after any step, and loss and accuracy on test data",
            "unprotected_quantities": str(started.get("unprotected") or UNPROTECTED),
        },
        "dp_flavor": {
            "name": "approximate DP: (ε, δ)",
            "data_domain": str(started.get("data") or settings.data),
        },
        "privacy_loss": {
            "privacy_unit": f"one {settings.unit}",
            "privacy_unit_description": neighbours(settings),
        },
        "model": {"model_name": "central: whoever trains sees the data and adds the noise"},
        "accounting": {
            "accountant": claim.shown.name,
            "version": f"dpviz {__version__}",
            "sampler": sampler,
            "composition": f"as planned: {steps}; each step may depend on earlier outputs",
            "covers": claim.coverage,
            "tuning": "not counted: ε is that of this run and of those that it starts from",
        },
        "implementation": {
            "mechanisms": f"{METHODS[settings.method].label} on {model}, C = {settings.max_grad_norm:g}",
            "sampler_as_run": sampler,
            "size": f"{examples:,}" if (examples := _examples(view)) else UNKNOWN,
            "assumptions": " ".join((*assumptions(settings), *claim.shown.conditions)),
        },
    }


def _examples(view: RunView) -> int:
    """N; 0 where it is not known."""
    return int(view.started.get("examples") or 0)


def _planned(settings: RunSettings, examples: int) -> tuple[Event, ...]:
    """The whole plan, after what earlier runs spent; nothing where results decide on the steps, or N is not known."""
    if not settings.private or settings.adaptive or not examples:
        return ()
    return merge_events((*spent_before(settings), *everything_planned(settings, examples)))


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
    settings: RunSettings, view: RunView, claim: Claim, others: int | None, measured: bool | None
) -> dict[str, Reply]:
    """What is known of each pitfall, and what shows it."""
    adjacency = Reply(YES, f"one {settings.unit}: {neighbours(settings)}")
    if view.record.imported:
        unproven = ("sampler", "clipping", "scale", "preprocessing", "stopping", "noise")
        return dict.fromkeys(unproven, Reply(UNKNOWN, "this run came from a file, which cannot show it")) | {
            "adjacency": adjacency
        }
    own = is_own(settings.data) or settings.model not in MODELS
    replies = {
        "adjacency": adjacency,
        "sampler": Reply(
            YES,
            "dpviz draws the batches itself and charges what it draws: " + SAMPLERS[settings.sampler].assumption,
        ),
        "clipping": Reply(
            YES,
            f"each {settings.unit} is clipped before the sum; layers that mix examples are refused before the first "
            "step",
        ),
        "scale": Reply(
            YES, "one process adds the noise once to the sum of the whole batch; nothing is accumulated over batches"
        ),
        "preprocessing": _preprocessing(settings, own=own),
        "stopping": Reply(
            YES,
            f"{claim.coverage}; parameters after every step are covered, and a choice by test data costs nothing",
        )
        if claim.shown.holds
        else Reply(UNKNOWN, "no ε is claimed"),
        "metrics": _METRICS[measured],
        "pretraining": _pretraining(settings, own=own),
        "noise": Reply(
            NO,
            "seeded once by the system's cryptographic source; the generators of batches and noise are not "
            "cryptographic themselves"
            if settings.secure_noise
            else "the seed of the noise is kept, so that it can be replayed",
        ),
    }
    if settings.by_person:
        replies["rows"] = Reply(YES, "all rows of a person join a batch together and are clipped as one")
    return replies | ({} if others is None else _others(others))


_METRICS = {
    None: Reply(
        UNKNOWN,
        "pages and files show loss and norms of the training data, marked as not covered; what was published is not "
        "known",
    ),
    True: Reply(NO, "this page holds loss, norms or times of the training data, which ε does not cover"),
    False: Reply(YES, "this page leaves them out; other exports hold them, marked as not covered by ε"),
}


def _others(others: int) -> dict[str, Reply]:
    if not others:
        nothing = "the store holds no other run on these data; what was made elsewhere is not known"
        return {"models": Reply(UNKNOWN, nothing)}
    runs = f"the store holds {others:,} other runs on these data"
    return {
        "models": Reply(NO, f"{runs}, which this ε does not count"),
        "tuning": Reply(UNKNOWN, f"{runs}; whether one was chosen by results is not known"),
    }


def _preprocessing(settings: RunSettings, *, own: bool) -> Reply:
    if not own:
        return Reply(YES, "scaled by published constants, not by numbers from these data")
    if settings.data == OWN_DATA or settings.model not in MODELS:
        declared = "nobody declared scaling, sizes and classes of these data public"
    else:
        declared = "the owner of the data declares scaling, sizes and classes public"
    return Reply(UNKNOWN, f"{declared}; nothing shows how they were made")


def _pretraining(settings: RunSettings, *, own: bool) -> Reply:
    """What shows that the first parameters, and fixed features under them, cost nothing uncounted.

    Args:
        own: whether data or model are a program's own.
    """
    start, public = _start(settings, own=own), RECORDED[settings.model].learnt_from
    if not public or start.answer != YES:
        return start
    features = f"features are fixed and were learnt from {public}, which no ε protects; {start.why}"
    return (
        Reply(UNKNOWN, f"{features}; whether these data hold one of them is not known") if own else Reply(YES, features)
    )


def _start(settings: RunSettings, *, own: bool) -> Reply:
    if settings.model in MODELS and settings.start_from is None:
        return Reply(YES, "random weights at the start: nothing was pre-trained")
    counted = settings.origins and all(origin.data == settings.data for origin in settings.origins)
    return Reply(YES, "weights of runs on the same data, whose cost is counted") if counted and not own else Reply()

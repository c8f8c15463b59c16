"""The format of an exported run, as types that pydantic checks: what each object holds, with ranges and lengths.

An object may hold more, which is left out: an export of a later version may say more, and nothing here would read it.
What is missing, of another type, out of its range or too long is refused with a reason.
"""

import math
from typing import Annotated, Any, Literal, Required, TypeVar, cast, get_type_hints

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic needs this one below Python 3.12

from dpviz.accounting.methods import READINGS
from dpviz.fields.field import Number
from dpviz.runs.exchange.checks import (
    ATTEMPTS,
    CHANGING,
    DISPUTES,
    DISTANCES,
    EVENTS,
    LARGEST_NUMBER,
    LARGEST_WHOLE,
    MANY,
    NAME,
    ORIGINS,
    PLANNED,
    STEPS,
    TRACE,
    WORDS,
    NotARun,
    expect,
    shown,
)
from dpviz.runs.exchange.sequence import Costs
from dpviz.runs.store import jsontext
from dpviz.runs.store.records import State
from dpviz.runs.told.settings import MARK, ToldSettings
from dpviz.training.accounts.followed import COLUMNS as FOLLOWED_COLUMNS
from dpviz.training.accounts.followed import LENGTHS, SHARES
from dpviz.training.samplers import read, stored
from dpviz.training.settings import FIELDS, RunSettings

T = TypeVar("T")

# --- texts and numbers ------------------------------------------------------------------------------------------------


def _printable(text: str) -> str:
    """A text that can be stored and shown; one that stands for a number is refused."""
    if text in jsontext.WORDS:
        raise ValueError(f"Expected words, found {text!r}, which stands for a number")
    # Control characters say nothing to people, and some readers stop at them.
    return "".join(c if c >= " " or c in "\n\t" else "\ufffd" for c in text)


def _bounded(low: float, high: float) -> AfterValidator:
    """NaN, infinities, and numbers in [low, high]."""

    def check(value: float) -> float:
        if math.isfinite(value) and not low <= value <= high:
            raise ValueError(f"Expected a number in [{low:g}, {high:g}]")
        return value

    return AfterValidator(check)


def _number(value: object) -> object:
    """What stands for a number that JSON lacks, as this number."""
    return jsontext.WORDS.get(value, value) if isinstance(value, str) else value


PRINTABLE = AfterValidator(_printable)
Name = Annotated[str, Field(max_length=NAME), PRINTABLE]
Words = Annotated[str, Field(max_length=WORDS), PRINTABLE]
Short = Annotated[str, Field(max_length=60), PRINTABLE]
Whole = Annotated[int, Field(ge=0, le=LARGEST_WHOLE)]
Many = Annotated[int, Field(ge=0, le=MANY)]
StepNumber = Annotated[int, Field(ge=0, le=STEPS)]
Counted = Annotated[int, Field(ge=1, le=STEPS)]
Planned = Annotated[int, Field(ge=0, le=PLANNED)]
Finite = Annotated[float, Field(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER, allow_inf_nan=False)]
Positive = Annotated[float, Field(ge=0.0, le=LARGEST_NUMBER, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Moment = Annotated[float, Field(ge=0.0, le=1e11, allow_inf_nan=False)]  # seconds since 1970, until the year 5000
# With NaN and infinities, as a training that diverged has them.
Real = Annotated[float, BeforeValidator(_number), _bounded(-LARGEST_NUMBER, LARGEST_NUMBER)]
Epsilon = Annotated[float, BeforeValidator(_number), _bounded(0.0, LARGEST_NUMBER)]
MeasuredShare = Annotated[float, BeforeValidator(_number), _bounded(0.0, 1.0)]
Column = Annotated[list[Real | None], Field(max_length=STEPS, fail_fast=True)]
DistancesOfStep = Annotated[list[Positive], Field(max_length=DISTANCES, fail_fast=True)]
Distances = Annotated[list[DistancesOfStep], Field(max_length=STEPS, fail_fast=True)]

# --- mechanisms and readings ------------------------------------------------------------------------------------------


def _charge(values: list[Any]) -> list[Any]:
    """A mechanism and how many times it ran (`samplers.stored`): three numbers, or a kind and its numbers."""
    kind, numbers = (values[:1], values[1:]) if values and isinstance(values[0], str) else ([], values)
    for value in numbers:
        if isinstance(value, str) or not 0.0 <= value <= LARGEST_NUMBER:
            raise ValueError(f"Expected numbers in [0, {LARGEST_NUMBER:g}], found {shown(value)}")
    if not kind:
        expect(len(values) == 3, f"noise, rate and times of a mechanism, found {len(values)} numbers")
        return values
    mechanism, times = read(values)
    possible = 1e-6 <= getattr(mechanism, mechanism.noise) <= 1e12 and times >= 1
    expect(possible, "a mechanism with noise in [1e-6, 1e12], and whole times")
    return stored(mechanism, times)


def _spent(charge: list[Any]) -> list[Any]:
    """A mechanism of steps that were made."""
    if isinstance(charge[0], str):
        return charge
    sigma, rate, times = charge
    possible = 1e-6 <= sigma <= 1e12 and rate <= 1.0 and times == int(times) and times >= 1
    expect(possible, "a mechanism with noise in [1e-6, 1e12], rate in [0, 1] and whole times")
    return charge


def _counted(charge: list[Any]) -> list[Any]:
    """A mechanism of a count."""
    expect(charge[1:] == [1, 1], "a count with noise in [1e-6, 1e12], rate 1, once")
    return charge


def _now(readings: dict[str, T]) -> dict[str, T]:
    """Readings of the accountants that there are."""
    return {name: readings[name] for name in READINGS if name in readings}


Charge = Annotated[list[str | int | float], Field(max_length=20), AfterValidator(_charge)]
Spent = Annotated[Charge, AfterValidator(_spent)]
Charges = Annotated[list[Spent], Field(max_length=STEPS, fail_fast=True)]
Readings = Annotated[dict[str, Epsilon | None], AfterValidator(_now)]
EpsilonOfSteps = Annotated[list[Epsilon | None], Field(max_length=STEPS, fail_fast=True)]
FOLLOWED = int(cast(Number, FIELDS["followed"]).high)
FollowedShare = Annotated[int, Field(ge=0, le=SHARES)]
FollowedShares = Annotated[
    list[Annotated[list[FollowedShare], Field(max_length=FOLLOWED)]], Field(max_length=STEPS, fail_fast=True)
]
ReadingsOfSteps = Annotated[dict[str, EpsilonOfSteps], AfterValidator(_now)]

# --- settings ---------------------------------------------------------------------------------------------------------


class EarlierRun(TypedDict, total=False):
    run: Required[Name]
    name: Required[Name]
    data: Required[Name]
    mechanisms: Required[Annotated[list[Charge], Field(max_length=CHANGING, fail_fast=True)]]
    epsilon: Positive | None
    delta: Share
    unbounded: Words
    replayable: bool
    unit: Short


Numeric = None | bool | Annotated[int, Field(ge=-(10**39), le=10**39)] | Real
SETTING: dict[type, TypeAdapter[Any]] = {
    str: TypeAdapter(Name),
    list: TypeAdapter(Annotated[list[Numeric | Name], Field(max_length=20)]),
}
NUMBER: TypeAdapter[Any] = TypeAdapter(Numeric)
NAMED: dict[str, TypeAdapter[Any]] = {  # what is neither a number nor a text
    "origins": TypeAdapter(Annotated[list[EarlierRun], Field(max_length=ORIGINS)]),
    "before": TypeAdapter(Annotated[list[Spent], Field(max_length=CHANGING, fail_fast=True)]),
}


def _settings(value: dict[str, Any]) -> dict[str, Any]:
    """Settings as plain values, complete and of their own types where they are those of this version.

    Others, of another version or with names unknown here, stay what they are: `claims.settings_of` refuses them, and
    pages say so.
    """
    plain = {
        name: checked(f"setting {name!r}", one, NAMED.get(name) or SETTING.get(type(one), NUMBER))
        for name, one in value.items()
    }
    if MARK in plain:
        return _told(plain)
    try:
        settings = RunSettings.from_json(plain)
        settings.check()
    except (ValueError, TypeError):
        return plain
    numbers = {  # 64.0 is a legal batch size
        name: int(value) if kind in (int, int | None) else float(value)
        for name, kind in get_type_hints(RunSettings).items()
        if isinstance(value := getattr(settings, name), (int, float)) and not isinstance(value, bool)
    }
    settings = settings.with_(**numbers)
    _small_enough(settings)
    return settings.to_json()


def _told(plain: dict[str, Any]) -> dict[str, Any]:
    """Settings of a watched run of their own types, where they are those of this version."""
    try:
        return ToldSettings.from_json(plain).to_json()
    except (ValueError, TypeError):
        return plain


def _small_enough(settings: RunSettings) -> None:
    """Pages compute the plan, step by step if each step has its own noise, and the ε of earlier training."""
    before = [one for origin in settings.origins for one in origin.mechanisms]
    expect(
        len(before) <= CHANGING
        and all(one[-1] <= PLANNED for one in before)
        and all(1e-6 <= one[0] <= 1e12 and one[1] <= 1.0 for one in before if not isinstance(one[0], str)),
        f"origins with at most {CHANGING:,} mechanisms, noise in [1e-6, 1e12], rate in [0, 1] and "
        f"at most {PLANNED:,} times each",
    )
    Costs(settings).check()
    rate, clip = settings.learning_rate, settings.max_grad_norm
    trainable = max(rate, clip, rate / clip) <= 1e39
    expect(trainable, "learning_rate and max_grad_norm of a run that can be trained")
    free = settings.reads("noise_multiplier") or not settings.private  # not decided by the step size
    noise = settings.noise_multiplier
    expect(not free or 1e-6 <= noise <= 1e12, f"noise_multiplier={noise:.6g} in [1e-6, 1e12]")


Settings = Annotated[dict[Short, Any], Field(max_length=200), AfterValidator(_settings)]

# --- the run and its attempts -----------------------------------------------------------------------------------------


class SecretClaim(TypedDict, total=False):
    epsilon: Epsilon | None


class StatedClaim(SecretClaim, total=False):
    with_secret_noise: SecretClaim | None


class StatedSummary(TypedDict, total=False):
    epsilon: Readings
    claim: StatedClaim | None


class StatedRun(TypedDict):
    name: Name
    note: Words
    target: Words
    reason: Words
    state: State
    created: Moment
    started: Moment | None
    ended: Moment | None
    attempt: Annotated[int, Field(ge=0, le=ATTEMPTS)]
    steps: StepNumber
    summary: StatedSummary
    settings: Settings


class StatedAttempt(TypedDict):
    attempt: Annotated[int, Field(ge=1, le=ATTEMPTS)]
    execution: Name
    outcome: Name
    started: Moment
    ended: Moment | None


# --- events, by kind (`dpviz.training.events`) ------------------------------------------------------------------------


class StartedEvent(TypedDict, total=False):
    kind: Required[Literal["started"]]
    settings: Settings
    examples: Annotated[int, Field(ge=1, le=10**9)]
    test_examples: Annotated[int, Field(ge=0, le=10**9)]
    classes: Planned
    majority: Share
    claim: StatedClaim | None
    device: Name
    data_mark: Name
    threads: Annotated[int, Field(ge=0, le=10_000)]
    parameters: Many
    data: Words
    model: Words
    noise_source: Words
    unprotected: Words
    fallback_layers: Annotated[list[Name], Field(max_length=1_000)]


class StatedNorms(TypedDict):
    step: StepNumber
    edges: Annotated[list[Positive], Field(min_length=2, max_length=1_000)]
    counts: Annotated[list[Many], Field(min_length=1, max_length=1_000)]
    max_grad_norm: Annotated[float, Field(ge=1e-39, le=LARGEST_NUMBER)]


class StatedSignal(TypedDict):
    signal: Positive
    noise: Positive


class StepEvent(TypedDict, total=False):
    kind: Required[Literal["step"]]
    first: Required[Counted]
    count: Required[Counted]
    mechanisms: Charges
    batch_size: Column
    expected_batch_size: Column
    loss: Column
    clipped: Column
    non_finite: Column
    learning_rate: Column
    reported_epsilon: Column
    seconds: Column
    epsilon: ReadingsOfSteps
    distances: Distances | None
    followed_lowest: EpsilonOfSteps
    followed_median: EpsilonOfSteps
    followed_highest: EpsilonOfSteps
    followed_shares: FollowedShares
    norms: StatedNorms | None
    noise: StatedSignal | None
    bayesian_text: Words


class StatedMeasures(TypedDict, total=False):
    test_loss: Real | None
    train_loss: Real | None
    test_accuracy: MeasuredShare | None
    train_accuracy: MeasuredShare | None
    posterior_accuracy: MeasuredShare | None


class EvaluationEvent(StatedMeasures, total=False):
    kind: Required[Literal["evaluation"]]
    samples: StepNumber


class CountEvent(TypedDict, total=False):
    kind: Required[Literal["count"]]
    mechanism: Required[Annotated[Spent, AfterValidator(_counted)]]
    count: Finite
    accuracy: Annotated[float, Field(ge=-1e6, le=1e6)]
    rose: bool | None
    blocked: bool | None
    epsilon: Readings
    noise_multiplier: Positive
    batch_size: Positive


class ContinuedEvent(TypedDict, total=False):
    kind: Required[Literal["continued"]]
    mechanisms: Required[Charges]
    covered: StepNumber
    text: Words


class ReplannedEvent(TypedDict, total=False):
    kind: Required[Literal["replanned"]]
    total_steps: Required[Annotated[int, Field(ge=1, le=PLANNED)]]
    text: Words


class NoteEvent(TypedDict):
    kind: Literal["note", "notice"]
    text: Words


class ProgressEvent(TypedDict, total=False):
    kind: Required[Literal["progress"]]
    text: Required[Words]
    done: Many
    total: Many
    left: Epsilon | None


class ControlEvent(TypedDict, total=False):
    kind: Required[Literal["control"]]
    state: Name


class ChargedEvent(TypedDict):
    kind: Literal["charged"]
    through: Planned
    mechanisms: Charges


class StatedDispute(TypedDict):
    what: Name
    recorded: Real
    recomputed: Real


class ImportedEvent(TypedDict, total=False):
    kind: Required[Literal["imported"]]
    disputes: Required[Annotated[list[StatedDispute], Field(max_length=DISPUTES)]]
    checksums: Words


class EndEvent(StatedMeasures, total=False):
    kind: Required[Literal["done", "stopped", "failed"]]
    majority: MeasuredShare | None
    tail_share: MeasuredShare | None
    reason: Name
    text: Words
    bayesian_text: Words
    seconds: Positive
    epsilon: Readings
    claim: StatedClaim | None
    traceback: Annotated[str, Field(max_length=TRACE), PRINTABLE]


COLUMNS = [name for name, kind in get_type_hints(StepEvent, include_extras=True).items() if kind == Column]


class StatedEvent(TypedDict):
    attempt: Annotated[int, Field(ge=0, le=ATTEMPTS)]
    seq: Whole
    kind: Short
    step: StepNumber
    time: Moment
    data: Annotated[
        StartedEvent
        | StepEvent
        | EvaluationEvent
        | CountEvent
        | ContinuedEvent
        | ReplannedEvent
        | NoteEvent
        | ProgressEvent
        | ControlEvent
        | ChargedEvent
        | ImportedEvent
        | EndEvent,
        Field(discriminator="kind"),
    ]


def _stretch(event: Any) -> Any:
    """A single step that is told in plain numbers, as a stretch of one."""
    data = event.get("data") if isinstance(event, dict) else None
    if not isinstance(data, dict) or data.get("kind") != "step" or "first" in data:
        return event
    columns = {name: [data[name]] for name in COLUMNS if name in data}
    return event | {"data": {"kind": "step", "first": event.get("step"), "count": 1, **columns}}


def _consistent(event: dict[str, Any]) -> dict[str, Any]:
    """An event of the kind that it says, every list of a stretch as long as `count`."""
    data, kind = event["data"], event["kind"]
    expect(data["kind"] == kind, f"an event to hold its own kind {kind!r}, found {data['kind']!r}")
    if kind == "step":
        _columns(data, event["step"])
    return event


def _columns(body: dict[str, Any], step: int) -> None:
    count = body["count"]
    last = body["first"] + count - 1
    expect(step == last, f"an event to end at step {last}, found step {step}")
    body.update({"mechanisms": [], "epsilon": {}, "distances": None} | body)
    lists = {name: body[name] for name in COLUMNS if name in body} | body["epsilon"]
    lists |= {} if body["distances"] is None else {"distances": body["distances"]}
    lists |= {name: body[name] for name in (*FOLLOWED_COLUMNS, LENGTHS) if name in body}
    for name, entries in lists.items():
        expect(len(entries) == count, f"{name} with {count} numbers, found {len(entries)}")
    steps = int(sum(times for *_, times in body["mechanisms"]))
    each = [isinstance(one[0], str) for one in body["mechanisms"]]  # of these the account may go by the epoch
    fits = steps <= count if any(each) else steps == count or not each
    expect(fits, f"mechanisms of {count} steps, found {steps}")
    if norms := body.get("norms"):
        edges = norms["edges"]
        rising = len(edges) == len(norms["counts"]) + 1 and edges == sorted(set(edges))
        expect(rising, "norms with rising edges, one more than counts")


AnyEvent = Annotated[StatedEvent, BeforeValidator(_stretch), AfterValidator(_consistent)]


class FirstLine(TypedDict):
    run: StatedRun


class LastLine(TypedDict):
    attempts: Annotated[list[StatedAttempt], Field(max_length=ATTEMPTS)]
    events: Annotated[int, Field(ge=0, le=EVENTS)]


# What of the lines of a file is read; how they fit together `sequence` checks.
FIRST: TypeAdapter[FirstLine] = TypeAdapter(FirstLine)
EVENT: TypeAdapter[StatedEvent] = TypeAdapter(AnyEvent)
LAST: TypeAdapter[LastLine] = TypeAdapter(LastLine)


def checked(what: str, value: object, kind: TypeAdapter[T]) -> T:
    """The value as one of this kind.

    Raises:
        NotARun: naming the place of the first thing in it that is not as it should be.
    """
    try:
        return kind.validate_python(value, strict=True)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False)[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).removeprefix(".")
    if first["type"] == "value_error":
        reason = str(first["ctx"]["error"]).removesuffix(".")
    else:
        reason = first["msg"] + ("" if first["type"] == "missing" else f", found {shown(first['input'])}")
    raise NotARun(f"In {what}{f' at {place}' if place else ''}: {reason}.")

"""What an exported run may contain: the type and range of every field, checked before anything else is done.

What has another name is dropped: an export of a later version may say more, and nothing here would read it. What is
missing, of another type, too long or not in step with the rest is refused with a reason.

>>> whole(1, 10)("steps of the run", 7)
7
>>> table({"step": whole(0, 9)}, {"text": text(20)})("event 3", {"step": 2, "unheard": []})
{'step': 2}
"""

import json
import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn, get_type_hints

import numpy as np

from dpviz.accounting.methods import READINGS
from dpviz.runs.store import jsontext
from dpviz.runs.store.records import CHARGED_KIND, FINAL_KINDS, IMPORTED_KIND, STATES, Event
from dpviz.training.data import DATA_SETS
from dpviz.training.defaults import units_of
from dpviz.training.samplers import read, stored
from dpviz.training.settings import RunSettings

Check = Callable[[str, Any], Any]

# A file of a hundred bytes can ask for a gigabyte; these bound what is made of one before anything is.
LARGEST = 64 * 1024 * 1024  # bytes: 50,000 steps with all their columns are 15 MB, 300,000 distances 6 MB
MOST_VALUES = 2_000_000  # commas and brackets: Python takes some 50 to 150 bytes for each value
MOST_NESTED = 40  # brackets in brackets: runs need eight, and Python's reader can end the whole process at thousands
LARGEST_NUMBER = 1e39  # single precision, which trains, holds nothing larger
LARGEST_WHOLE = 2**53  # beyond it a float misses whole numbers


class NotARun(ValueError):
    """The file is not an exported run; the message says why."""


def expect(right: bool, what: str) -> None:
    """Refuse the file, saying what was expected, unless that is so."""
    if not right:
        raise NotARun(f"Expected {what}.")


def refuse(what: str, wanted: str, value: Any) -> NoReturn:
    raise NotARun(f"Expected {what} {wanted}, found {shown(value)}.")


def shown(value: Any) -> str:
    """A value as a message quotes it, always short."""
    if isinstance(value, (list, dict)):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST_WHOLE:
        return f"a whole number of {value.bit_length()} bits"  # Python refuses to write very long ones
    return ascii(value)[:60]


def parsed(content: bytes) -> Any:
    """The JSON in a file, if it is not too large. NaN and infinities, which JSON lacks, remain texts.

    Raises:
        NotARun: if it is too large, no JSON, nested too deeply or names a thing twice.
    """
    size = len(content)
    expect(size <= LARGEST, f"a file of at most {LARGEST // 2**20} MB, found {size // 2**20} MB")
    values = sum(content.count(mark) for mark in (b",", b"[", b"{"))
    expect(values <= MOST_VALUES, f"at most {MOST_VALUES:,} values in the file, found about {values:,}")
    flat = _nested(content) <= MOST_NESTED
    expect(flat, f"at most {MOST_NESTED} brackets in brackets; this is no JSON of a run")
    try:
        return json.loads(content.decode("utf-8-sig"), object_pairs_hook=_each_once)
    except NotARun:
        raise
    except (ValueError, RecursionError) as error:  # also: bytes that are no text, numbers of thousands of digits
        raise NotARun(f"Expected the JSON of an exported run; this is no JSON ({str(error)[:200]}).") from None


_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NO_BRACKET = bytes(byte for byte in range(256) if byte not in b"[]{}")


def _nested(content: bytes) -> int:
    """How deeply brackets are nested, without those in texts."""
    brackets = np.frombuffer(_STRING.sub(b"", content).translate(None, _NO_BRACKET), dtype=np.uint8)
    opening = (brackets == ord("[")) | (brackets == ord("{"))
    return int(np.cumsum(np.where(opening, 1, -1), dtype=np.int64).max(initial=0))


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        names = [name for name, _ in pairs]
        refuse("each name once in an object,", "not twice", next(name for name in names if names.count(name) > 1))
    return entries


def table(required: Mapping[str, Check], possible: Mapping[str, Check] = {}) -> Check:
    """An object with all of `required` and any of `possible`; entries with other names are dropped."""

    def check(what: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            refuse(what, "to be an object", value)
        for name in required:
            expect(name in value, f"{what} to have {name!r}")
        checks = {**required, **possible}
        return {name: entry(f"{name!r} of {what}", value[name]) for name, entry in checks.items() if name in value}

    return check


def _right(wanted: str, right: Callable[[Any], bool]) -> Check:
    """A value of which this is true."""

    def check(what: str, value: Any) -> Any:
        return value if right(value) else refuse(what, wanted, value)

    return check


def whole(low: int = 0, high: int = LARGEST_WHOLE) -> Check:
    """A whole number in [low, high]."""
    wanted = f"to be a whole number in [{low}, {high:,}]"
    return _right(wanted, lambda value: type(value) is int and low <= value <= high)


def one_of(allowed: tuple[str, ...]) -> Check:
    """One of these words."""
    return _right(f"to be one of {', '.join(allowed)}", lambda value: isinstance(value, str) and value in allowed)


flag = _right("to be true or false", lambda value: isinstance(value, bool))


def number(low: float = -LARGEST_NUMBER, high: float = LARGEST_NUMBER, *, endless: bool = False) -> Check:
    """A number in [low, high]; with `endless` also NaN and infinities, which occur if training diverges."""

    def check(what: str, value: Any) -> float:
        value = jsontext.WORDS.get(value, value) if isinstance(value, str) else value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if isinstance(value, float) and not math.isfinite(value) and endless:
                return value
            if low <= value <= high:  # also for whole numbers that no float holds
                return value
        return refuse(what, f"to be a number in [{low:g}, {high:g}]", value)

    return check


def text(most: int) -> Check:
    """Words of at most `most` characters that can be stored and shown."""

    def check(what: str, value: Any) -> str:
        if not isinstance(value, str):
            refuse(what, "to be words", value)
        expect(len(value) <= most, f"{what} with at most {most:,} characters, found {len(value):,}")
        if value in jsontext.WORDS:
            raise NotARun(f"Expected {what} to be words, found {value!r}, which stands for a number.")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise NotARun(f"Expected {what} to be words, found an incomplete character.") from None
        # Control characters say nothing to people, and some readers stop at them.
        return "".join(c if c >= " " or c in "\n\t" else "\ufffd" for c in value)

    return check


def none_or(entry: Check) -> Check:
    """null, or what `entry` takes."""
    return lambda what, value: None if value is None else entry(what, value)


def listed(entry: Check, most: int, least: int = 0) -> Check:
    """A list of `least` to `most` entries."""

    def check(what: str, value: Any) -> list[Any]:
        if not isinstance(value, list):
            refuse(what, "to be a list", value)
        expect(least <= len(value) <= most, f"{what} with {least:,} to {most:,} entries, found {len(value):,}")
        return [entry(f"entry {at} of {what}", part) for at, part in enumerate(value)]

    return check


_FORMAT = tomllib.loads((Path(__file__).parent / "format.toml").read_text(encoding="utf-8"))
MOST: Mapping[str, int] = _FORMAT["limits"]


def _charge(what: str, value: Any) -> list[Any]:
    """A mechanism and how many times it ran (`samplers.stored`)."""
    by_kind = isinstance(value, list) and value and isinstance(value[0], str)
    charge: list[Any] = (_spent_by_kind if by_kind else checked("mechanism"))(what, value)
    return charge


def _spent(what: str, value: Any) -> list[Any]:
    """A mechanism of steps that were made."""
    charge = _charge(what, value)
    if isinstance(charge[0], str):
        return charge
    sigma, rate, times = charge
    possible = 1e-6 <= sigma <= 1e12 and rate <= 1.0 and times == int(times) and times >= 1
    expect(possible, f"{what} as noise in [1e-6, 1e12], rate in [0, 1] and whole times")
    return charge


def _spent_by_kind(what: str, value: list[Any]) -> list[Any]:
    """A mechanism that is not the sampled Gaussian one, by its kind."""
    kind, *numbers = value
    numbers = [checked("positive")(what, one) for one in numbers]
    try:
        mechanism, times = read([kind, *numbers])
    except (ValueError, TypeError) as problem:
        raise NotARun(f"Expected {what} as a mechanism: {problem}") from None
    possible = 1e-6 <= getattr(mechanism, mechanism.noise) <= 1e12 and times >= 1
    expect(possible, f"{what} as noise in [1e-6, 1e12], and whole times")
    return stored(mechanism, times)


def _counted(what: str, value: Any) -> list[float]:
    """A mechanism of a count."""
    spent = _spent(what, value)
    expect(spent[1:] == [1, 1], f"{what} as noise in [1e-6, 1e12], rate 1, once")
    return spent


def _built(spec: Any) -> Check:
    """The check that an entry of `format.toml` writes."""
    if isinstance(spec, dict):
        fields = {name: _built(entry) for names, entry in spec.items() if names != "needs" for name in names.split()}
        return table({name: fields.pop(name) for name in spec.get("needs", ())}, fields)
    if isinstance(spec, list):
        return listed(_built(spec[0]), *(MOST.get(most, most) for most in spec[1:]))
    if spec.endswith("?"):
        return none_or(_built(spec[:-1]))
    kind, *ends = spec.split()
    if kind in ("whole", "text"):
        return (whole if kind == "whole" else text)(*(MOST[end] if end in MOST else int(end) for end in ends))
    return number(*map(float, ends), endless=kind == "float") if ends else checked(kind)


@lru_cache(maxsize=256)
def checked(name: str) -> Check:
    """The check of this name, in code or one of the types of `format.toml`."""
    in_code: dict[str, Check] = {
        "flag": flag,
        "state": one_of(STATES),
        "spent": _spent,
        "charge": _charge,
        "counted": _counted,
        "settings": settings_of_file,
    }
    if name in in_code:
        return in_code[name]
    if name.startswith("readings"):
        reading: Any = "epsilon?" if name == "readings" else ["epsilon?", "steps"]
        return table({}, dict.fromkeys(READINGS, _built(reading)))
    return _built(_FORMAT["types"][name])


def _setting(what: str, value: Any) -> Any:
    """One value of a setting, or a short list of such."""
    if what.startswith("'origins'"):
        return listed(checked("origin"), MOST["origins"])(what, value)
    return listed(_setting_value, 20)(what, value) if isinstance(value, list) else _setting_value(what, value)


def _setting_value(what: str, value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    return checked("name" if isinstance(value, str) else "real")(what, value)


def settings_of_file(what: str, value: Any) -> dict[str, Any]:
    """Settings as plain values, complete and of their own types where they are those of this version.

    Others, of another version or with names unknown here, stay what they are: `claims.settings_of` refuses them, and
    pages say so.
    """
    if not isinstance(value, dict):
        refuse(what, "to be an object", value)
    expect(len(value) <= 200, f"{what} with at most 200 entries, found {len(value):,}")
    plain = {text(60)(f"a name in {what}", name): _setting(f"{name!r:.60} of {what}", v) for name, v in value.items()}
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


def _small_enough(settings: RunSettings) -> None:
    """Pages compute the plan, step by step if each step has its own noise, and the ε of earlier training."""
    before = [one for origin in settings.origins for one in origin.mechanisms]
    expect(
        len(before) <= MOST["mechanisms"]
        and all(one[-1] <= MOST["planned"] for one in before)
        and all(1e-6 <= one[0] <= 1e12 and one[1] <= 1.0 for one in before if not isinstance(one[0], str)),
        f"origins with at most {MOST['mechanisms']} mechanisms, noise in [1e-6, 1e12], rate in [0, 1] and "
        f"at most {MOST['planned']:,} times each",
    )
    most = MOST["mechanisms"] if settings.changing else MOST["planned"]
    expect(settings.last_step <= most, f"at most {most:,} planned steps, found {settings.last_step:,}")
    trainable = max(settings.learning_rate, settings.max_grad_norm) <= 1e39
    expect(trainable, "learning_rate and max_grad_norm of a run that can be trained")
    free = settings.reads("noise_multiplier") or not settings.private  # not decided by the step size
    noise = settings.noise_multiplier
    expect(not free or 1e-6 <= noise <= 1e12, f"noise_multiplier={noise:.6g} in [1e-6, 1e12]")


KINDS = {kind: _built(fields) for kinds, fields in _FORMAT["kinds"].items() for kind in kinds.split()}
COLUMNS = next(names.split() for names, check in _FORMAT["kinds"]["step"].items() if check == "column")


def attempts_of(value: Any, latest: int) -> list[dict[str, Any]]:
    """Attempts 1 … `latest`, without their processes: a file must not name those."""
    attempts = listed(checked("attempt"), MOST["attempts"])("'attempts'", value)
    numbers = [attempt["attempt"] for attempt in attempts]
    expect(numbers == list(range(1, latest + 1)), f"attempts 1 … {latest}, found {numbers}")
    executions = {attempt["execution"] for attempt in attempts}
    expect(len(executions) == len(attempts), "an execution of its own for each attempt")
    return [{**attempt, "worker": {}} for attempt in attempts]


def events_of(value: Any, attempts: int) -> list[Event]:
    """All events in order, each of a known kind and consistent with the events before it."""
    if not isinstance(value, list):
        raise NotARun("Expected 'events' as a list.")
    expect(len(value) <= MOST["events"], f"at most {MOST['events']:,} events, found {len(value):,}")
    events = [_event(f"event {at}", entry) for at, entry in enumerate(value)]
    places = [(event.attempt, event.seq) for event in events]
    expect(len(set(places)) == len(places), "each event to have a different number")
    for event in events:
        belongs = event.kind == IMPORTED_KIND or 1 <= event.attempt <= attempts
        expect(belongs, f"every event to belong to an attempt, found one of attempt {event.attempt}")
    events.sort(key=lambda event: (event.attempt, event.seq))
    for attempt in range(1, attempts + 1):
        _in_step([event for event in events if event.attempt == attempt and event.kind != IMPORTED_KIND])
    _bounded(events)
    return events


def _event(what: str, entry: Any) -> Event:
    head = checked("event")(what, entry)
    kind, data = head["kind"], entry["data"]
    expect(data["kind"] == kind, f"{what} to hold its own kind {kind!r}, found {data['kind']!r:.60}")
    expect(kind in KINDS, f"{what} of a known kind, found {kind!r}")
    if kind == "step" and "first" not in data:  # a single step told in plain numbers
        data = {"first": head["step"], "count": 1, **{name: [data[name]] for name in COLUMNS if name in data}}
    body = KINDS[kind](what, data)
    if kind == "step":
        _columns(what, body, head["step"])
    content = {"kind": kind, "step": head["step"], "time": head["time"], **body}
    return Event(head["attempt"], head["seq"], kind, head["step"], float(head["time"]), content)


def _columns(what: str, body: dict[str, Any], step: int) -> None:
    """Every list as long as `count`, before anything is made of it."""
    count = body["count"]
    last = body["first"] + count - 1
    expect(step == last, f"{what} to end at step {last}, found step {step}")
    body.update({"mechanisms": [], "epsilon": {}, "distances": None} | body)
    lists = {name: body[name] for name in COLUMNS if name in body} | body["epsilon"]
    lists |= {} if body["distances"] is None else {"distances": body["distances"]}
    for name, entries in lists.items():
        expect(len(entries) == count, f"{name} of {what} with {count} numbers, found {len(entries)}")
    steps = int(sum(times for *_, times in body["mechanisms"]))
    each = [isinstance(one[0], str) for one in body["mechanisms"]]  # of these the account may go by the epoch
    fits = steps <= count if any(each) else steps == count or not each
    expect(fits, f"mechanisms of {count} steps in {what}, found {steps}")
    if norms := body.get("norms"):
        edges = norms["edges"]
        rising = len(edges) == len(norms["counts"]) + 1 and edges == sorted(set(edges))
        expect(rising, f"norms of {what} with rising edges, one more than counts")


def _in_step(events: Sequence[Event]) -> None:
    """One attempt: begun once, steps one after the other where no event is missing, nothing after its end."""
    at, begun, last, missing = 0, False, 0, False
    for place, event in enumerate(events):
        expect(event.step >= last, f"steps that do not decrease, found step {event.step} after {last}")
        last = event.step
        missing |= event.seq != (events[place - 1].seq + 1 if place else 0)
        if event.kind == "started":
            expect(not begun and not at, "'started' once, before the first step")
            begun = True
        elif event.kind == "step":
            first = event.data["first"]
            expect(first == at + 1 or (first > at and missing), f"step {at + 1} next, found {first}")
            at, missing = event.step, False
        elif event.kind in FINAL_KINDS:
            expect(place == len(events) - 1, f"nothing after {event.kind!r}")


def _bounded(events: Sequence[Event]) -> None:
    """What is cheap in a file and dear to work out."""
    steps = [event for event in events if event.kind == "step"]
    counts = [event for event in events if event.kind == "count"]
    charges = [event.data["mechanisms"] for event in events if event.kind == CHARGED_KIND]
    sizes = {
        "steps in all attempts": (sum(event.data["count"] for event in steps), MOST["steps"]),
        "different mechanisms": (
            len({tuple(one[:-1]) for event in steps for one in event.data["mechanisms"]})
            + len({tuple(one[:-1]) for mechanisms in charges for one in mechanisms})
            + len({event.data["mechanism"][0] for event in counts}),
            MOST["mechanisms"],
        ),
        "changes of mechanism": (
            sum(map(len, [*charges, *(event.data["mechanisms"] for event in steps)])) + len(counts),
            MOST["events"],
        ),
        "distances": (
            sum(len(one) for event in steps for one in event.data["distances"] or []),
            MOST["distances"],
        ),
        "new plans": (sum(event.kind == "replanned" for event in events), MOST["replans"]),
    }
    for what, (many, most) in sizes.items():
        expect(many <= most, f"at most {most:,} {what}, found {many:,}: to check their ε would take too long")


def known_size(settings: RunSettings, events: Sequence[Event]) -> None:
    """A known data set has its own number of examples: q and the plan rest on it."""
    for event in events:
        if event.kind == "started":
            expect("examples" in event.data, "'started' to have 'examples'")
            examples = event.data["examples"]
            size = units_of(settings) if settings.data in DATA_SETS else examples
            expect(examples == size, f"examples={examples:,} to be the {size:,} of {settings.data}")
            batch = settings.batch_size
            expect(batch <= examples, f"batch_size={batch:,} <= {examples:,} examples")

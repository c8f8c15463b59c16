"""Whatever legal values the settings have, every question answers, speaks, draws, tabulates and writes its script."""

import dataclasses
import json
import math
import os
import pickle
import random
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pandas as pd
import pytest

from dpviz.fields.field import Choice, Field, Flag, Number, Several
from dpviz.questions import kinds
from dpviz.questions.answer import LATER, PENDING, Answer, Slow, soon, whole
from dpviz.questions.asked import Asked, ask
from dpviz.questions.attack.audit_runs import MoreRuns
from dpviz.questions.catalogue import PAGES, QUESTIONS
from dpviz.questions.gradients import File
from dpviz.questions.layout import SettingsSnapshot, fields_of
from dpviz.questions.networks import Network
from dpviz.questions.question import Question
from dpviz.questions.script import script
from dpviz.questions.source import Held
from tests.questions.asking import answer_to, asked, default, run_script, table, with_part
from tests.trained import invented

SETTINGS = table("settings")
# Trains a network for each new setting: seconds.
LEFT_ALONE = ("source",)
# The claims of all papers take three times as long as those of one that has slow ones.
LESS = {"claims": {"ppaper": "sgmcmc"}}
SEEDS = range(100 if os.environ.get("DPVIZ_EXPLORE") else 4)
# Questions that share a slow part have it tried once: seconds, and it is the same.
FIRST = {slow.work: key for key, question in reversed(QUESTIONS.items()) for slow in question.slow}
NO_WORD = re.compile(r"\b(nan|None|inf|np\.float64|Traceback)\b")


@pytest.fixture(autouse=True)
def nothing_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a network looked at: `test_leakage` does that."""
    monkeypatch.setattr(Network, "sample", lambda network: invented(network.arguments))
    few = lambda runs: {"without": [0.0] * runs.hundreds, "with": [1.0] * runs.hundreds}  # noqa: E731
    monkeypatch.setattr(MoreRuns, "sample", few)


def value(field: Field[Any], draw: random.Random) -> Any:
    """A legal value: often the default, else any, its ends included."""
    if draw.random() < 0.45 or field.key in LEFT_ALONE:
        return field.default
    if isinstance(field, Number):
        return number(field, draw)
    if isinstance(field, Choice):
        return draw.choice(list(field.options))
    if isinstance(field, Several):
        return tuple(key for key in field.options if draw.random() < 0.5) or field.default
    if isinstance(field, Flag):
        return draw.random() < 0.5
    return field.default


def number(field: Number, draw: random.Random) -> float:
    low = field.low if math.isfinite(field.low) else -1e3
    high = field.high if math.isfinite(field.high) else 1e12
    least = max(low, 1e-12)
    drawn = math.exp(draw.uniform(math.log(least), math.log(max(high, 10.0 * least))))
    chosen = draw.choice([*draw.choices(field.ticks, k=4), drawn, draw.choice([low, high])] if field.ticks else [drawn])
    return field.nearest(field.write(float(round(chosen)) if field.whole else chosen))


def own(key: str, seed: int | None) -> tuple[Slow[Any], ...]:
    """The slow parts that are tried with this question."""
    return tuple(slow for slow in QUESTIONS[key].slow if FIRST[slow.work] == key and (seed == 0 or len(SEEDS) > 4))


@cache
def at_defaults(key: str) -> tuple[Answer[Any], Answer[Any]]:
    """The answer as a question opens, without its slow parts and with them."""
    answer = asked(QUESTIONS[key], **LESS.get(key, {}))
    return answer, whole(answer, own(key, 0))


@cache
def drawn(key: str, seed: int | None) -> Answer[Any] | None:
    """The answer to random settings; None where they have none, which is said in a sentence. Defaults without seed."""
    question, draw = QUESTIONS[key], random.Random(f"{key} {seed}")
    values = {field.key: value(field, draw) for field in question.fields if seed is not None}
    try:
        return question.asked(question.read(lambda field: values.get(field.key, field.default)))
    except ValueError as problem:
        refused = str(problem)
    assert len(refused) > 25, "a sentence for the visitor"
    return None


def numbers_of(value: object, path: str = "facts") -> Iterator[tuple[str, np.ndarray]]:
    """Every number of an answer's facts, by where it stands."""
    if is_dataclass(value) and not isinstance(value, type):
        parts: Iterable[tuple[object, object]] = ((f.name, getattr(value, f.name)) for f in dataclass_fields(value))
    elif isinstance(value, Mapping | SimpleNamespace):
        parts = (value if isinstance(value, Mapping) else vars(value)).items()
    elif isinstance(value, (tuple, list)):
        parts = enumerate(value)
    else:
        if isinstance(value, (float, np.ndarray)) and np.asarray(value).dtype.kind == "f":
            yield path, np.asarray(value)
        return
    for name, part in parts:
        yield from numbers_of(part, f"{path}.{name}")


def test_no_verdict_is_made_of_a_value_on_its_way() -> None:
    for verdict in (
        lambda: PENDING < 1.0, lambda: PENDING > 1.0, lambda: PENDING == 1.0, lambda: np.float64(1.0) >= PENDING,  # type: ignore[operator]
        lambda: bool(PENDING), lambda: float(PENDING), lambda: f"{PENDING}", lambda: math.isnan(PENDING),  # type: ignore[arg-type]
    ):  # fmt: skip
        with pytest.raises(TypeError):
            verdict()
    assert pickle.loads(pickle.dumps(PENDING)) is PENDING


@pytest.mark.parametrize("key", [key for key, question in QUESTIONS.items() if own(key, 0)])
@pytest.mark.one_of(5)
def test_words_say_nothing_of_what_is_on_its_way(key: str) -> None:
    """A number that a slow part brings is not NaN before, which compares as False: words would make a verdict of it."""
    question, (answer, complete) = QUESTIONS[key], at_defaults(key)
    question.headline(answer), question.metrics(answer), question.notes(answer), question.below(answer)
    known = dict(numbers_of(complete.facts))
    late = [
        path for path, value in numbers_of(answer.facts)
        if value.size and np.isnan(value).all() and path in known and not np.isnan(known[path]).all()
    ]  # fmt: skip
    assert not late, "None or PENDING until it is there"


@pytest.mark.parametrize("key", [key for key in QUESTIONS if own(key, 0)])
@pytest.mark.one_of(4)
def test_a_number_before_its_slow_part_is_a_bound_or_not_there(key: str) -> None:
    """Of the same name; "≤" may only fall, and by 1 % at most."""
    question, (answer, complete) = QUESTIONS[key], at_defaults(key)
    before, after = question.metrics(soon(answer, own(key, 0))), question.metrics(complete)
    assert [one.name for one in before] == [one.name for one in after]
    for one, other in zip(before, after, strict=True):
        if one.value != other.value and one.value not in ("…", "–", LATER):
            assert (one.value[:2], other.value[:2]) == ("≤ ", "≤ "), (one, other)
            early, late = (float(each.value.strip("≤ %")) for each in (one, other))
            assert late <= early <= 1.02 * late, (one, other)  # both are rounded up


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("key", QUESTIONS)
@pytest.mark.one_of(5)
def test_a_question_stands_with_any_legal_settings(key: str, seed: int) -> None:
    answer = drawn(key, seed)
    for answered in () if answer is None else (answer, whole(answer, own(key, seed))):
        stands(QUESTIONS[key], answered)


def stands(question: Question[Any], answer: Answer[Any]) -> None:
    metrics = question.metrics(answer)
    assert len(metrics) <= 4
    words = [question.headline(answer), answer.plot.alt, *map(str, metrics), *map(str, question.notes(answer))]
    assert words[0]
    assert not NO_WORD.search(" ".join(words)), words
    assert len(answer.plot.table().columns)
    assert len(answer.plot.data().columns)
    assert all(latex for _, latex in question.formulas(answer))
    json.dumps(answer.plot.chart().figure, allow_nan=False)
    question.below(answer)
    for more in question.more.values():
        more(answer)


def at_the_ends() -> Iterator[str]:
    """Each question with what it has words for of each link of its page."""
    for page in PAGES:
        for question in page.questions:
            known = {field.key for field in question.fields}
            for query in SETTINGS["extremes"].get(page.key, ()):
                own = (part for part in query.split("&") if part.partition("=")[0] in known)
                yield f"{question.key}?{'&'.join(own)}"


@pytest.mark.parametrize("link", dict.fromkeys(at_the_ends()))  # many have words for few of them
@pytest.mark.one_of(3)
def test_a_question_stands_at_the_ends_of_its_settings(link: str) -> None:
    question = QUESTIONS[link.partition("?")[0]]
    try:
        answer = answer_to(link)
    except ValueError as problem:
        refused = str(problem)
        assert question.key in ("policy", "individual", "people", "langevin_posterior"), refused
        assert len(refused) > 25, "a sentence for the visitor"
        return
    stands(question, answer)
    if question in next(page for page in PAGES if page.key == "orders").questions:
        assert answer.plot.chart().notes == (), "words tell why a curve is not there"


@pytest.mark.parametrize("row", SETTINGS["parts"], ids=lambda row: row["question"])
@pytest.mark.one_of(3)
def test_a_slow_part_is_kept_under_what_decides_it(row: dict[str, Any]) -> None:
    """And joins whatever asks for it: it brings no other setting of the answer it was computed for along."""
    question, same = QUESTIONS[row["question"]], row["same"].split()
    slow = question.slow[row["part"]]

    def answered(more: str = "") -> Answer[Any]:
        return asked(question, **dict(parse_qsl(row["link"]) + parse_qsl(more)))

    def kept(more: str = "") -> Hashable | None:
        return slow.key(answered(more))

    here = kept()
    assert here is not None
    assert [more for more in same if kept(more) != here] == []
    assert [more for more in row["others"].split() if kept(more) == here] == []
    work = slow.work(answered())
    for now in map(answered, same):
        joined, alone = slow.join(now, work), slow.join(now, slow.work(now))
        assert joined.given == now.given
        assert question.metrics(joined) == question.metrics(alone)
        pd.testing.assert_frame_equal(joined.plot.data(), alone.plot.data())


@pytest.mark.one_of(5)
@pytest.mark.parametrize("seed", [None, 0, 1])
@pytest.mark.parametrize("key", QUESTIONS)
@pytest.mark.one_of(5)
def test_the_script_makes_the_chart(key: str, seed: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the defaults, which it does not name, and at random settings."""
    answer = drawn(key, seed)
    if answer is None:
        return
    question = replace(QUESTIONS[key], slow=own(key, seed))
    monkeypatch.setitem(QUESTIONS, key, question)
    run_script(script(question, answer), Asked(question, whole(answer, question.slow)))


@pytest.mark.parametrize("column", ["a", "b"])
def test_the_script_of_a_file_asks_for_its_path(column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("it's.csv").write_text("a,b\n" + "\n".join(f"{k / 50},{k % 7 + 1}" for k in range(1, 60)))
    of = File("it's.csv", column)
    answer = ask("compose", steps=20, curves=("bayesian",), gradients=Held(of, of.sample(), "1"))
    assert "),  # name: the path of your file\n" in answer.script()
    run_script(answer.script(), answer)


@pytest.mark.parametrize("key", QUESTIONS)
def test_every_control_is_a_setting_and_every_setting_has_a_control(key: str) -> None:
    """Over what choices open: a field that no layout shows could not be set, and one that is none would do nothing."""
    question = QUESTIONS[key]
    shown: set[str] = set()
    for seed in range(200):
        draw = random.Random(seed)
        decide = (field for field in question.fields if not isinstance(field, Number) or field.key == "tried")
        values = {field.key: value(field, draw) for field in decide}
        values |= {f.key: draw.choice(list(f.options)) for f in question.fields if f.key in LEFT_ALONE}  # type: ignore[attr-defined]
        groups = question.groups(lambda field, v=values: v.get(field.key, field.default))  # type: ignore[misc]
        shown |= {field.key for items in groups.values() for field in fields_of(items)}
    settings = {field.key for field in question.fields}
    both = key in ("langevin_cost", "langevin_posterior")  # show one conversion, or both, whichever is chosen
    assert settings - shown <= ({"conversion"} if both else set())
    assert shown - settings <= {"n", "units"}


@pytest.mark.parametrize("key", QUESTIONS)
@pytest.mark.one_of(4)
def test_asked_by_name(key: str) -> None:
    answer = ask(key)
    assert answer.headline
    assert "<" not in answer.headline
    assert len(answer.data())
    assert answer.link.startswith(f"/{next(p.key for p in PAGES if answer.question in p.questions)}")
    bundle, shown = answer._repr_mimebundle_(), repr(answer)
    assert bundle["application/vnd.plotly.v1+json"]["data"]
    assert "plotly" in bundle["text/html"]
    assert bundle["text/plain"] == answer.headline
    assert shown.startswith(answer.question.title)
    assert shown.endswith(answer.headline)
    assert all(f"{name}=" in shown for name in answer.answer.given)
    assert len(shown) < 3000


@pytest.mark.parametrize(("asking", "words"), table("refused").items())
def test_what_is_asked_wrongly_is_refused_in_words(asking: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        eval(asking, {"ask": ask, "link": answer_to})


@pytest.mark.parametrize("row", table("said")["said"], ids=lambda row: row["link"])
@pytest.mark.one_of(3)
def test_what_must_be_said_is_said(row: dict[str, Any]) -> None:
    question, answer = QUESTIONS[row["link"].partition("?")[0]], answer_to(row["link"])
    if "part" in row:
        answer = with_part(answer, question.slow[row["part"]])
    notes = [f"{note.kind}: {note.text}" for note in question.notes(answer)]
    metrics = [" | ".join(metric) for metric in question.metrics(answer)]
    words = "\n".join([question.headline(answer), *metrics, *notes, question.assumed(answer)])
    if "more" in row:
        [note, *_] = question.more[row["more"]](answer)
        words = note.text
    assert [text for text in row["says"] if text not in words] == [], words
    assert [text for text in row.get("not", ()) if text in words] == [], words


@pytest.mark.parametrize("value", [None, 3, -0.5, True, [3], ["x"], {}, object(), float("nan")])
def test_a_value_of_the_wrong_type_is_refused_in_words_or_taken(value: Any) -> None:
    """By every field of every question."""
    for field in {field.key: field for question in QUESTIONS.values() for field in question.fields}.values():
        try:
            field.accept(value)
        except ValueError as problem:
            assert field.label in str(problem)  # noqa: PT017


def test_an_option_that_writes_a_number_is_named_by_it() -> None:
    options = [field for question in QUESTIONS.values() for field in question.fields if isinstance(field, Choice)]
    numeric = {field.key: field for field in options if all(re.fullmatch(r"[\d.]+", each) for each in field.options)}
    assert {"pquant", "pclip"} <= set(numeric)
    for field in numeric.values():
        assert [field.accept(float(option)) for option in field.options] == list(field.options)


def test_keys_of_questions_and_fields_are_told_apart() -> None:
    assert len(QUESTIONS) == sum(len(page.questions) for page in PAGES)
    fields: dict[str, Field[Any]] = {}
    for page in PAGES:
        for field in page.fields:
            shared = fields.setdefault(field.key, field)
            # A page may start a shared setting at a value of its own, and say more of it.
            own = ("default", "entry", "label", "symbol", "help", "ends", "example", "ticks", "names", "options")
            one, other = (
                {each.name: getattr(declared, each.name) for each in dataclasses.fields(declared)}
                for declared in (field, shared)
            )
            assert {name for name in one if one[name] != other.get(name)} <= set(own)
            assert one.keys() == other.keys()
            assert not isinstance(field, Choice) or set(field.options) == set(getattr(shared, "options", ()))


@pytest.mark.parametrize("key", QUESTIONS)
def test_a_snapshot_is_read_once_a_field_and_says_what_its_reader_says(key: str) -> None:
    question, asked_for = QUESTIONS[key], []

    def read(field: Any) -> Any:
        asked_for.append(field.key)
        return field.default

    now = SettingsSnapshot(read)
    for _ in range(2):
        assert str(question.read(now)) == str(question.read(default))
        assert question.groups(now) == question.groups(default)
    assert sorted(asked_for) == sorted(set(asked_for))


def test_a_snapshot_makes_the_mechanism_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(kinds, "of_person", lambda mechanism, rows: made.append(rows) or mechanism)
    now = SettingsSnapshot(default)
    for key in ("compose", "noise", "solve", "orders"):
        QUESTIONS[key].read(now)
        QUESTIONS[key].groups(now)
    assert made == [1]


@pytest.mark.parametrize("key", QUESTIONS)
def test_a_question_names_the_fact_that_it_asks_for(key: str) -> None:
    answer = asked(QUESTIONS[key])
    assert is_dataclass(answer.facts)
    assert hasattr(answer.facts, QUESTIONS[key].asks)

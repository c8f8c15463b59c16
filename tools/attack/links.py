"""Links nobody would send: every field at its ends, just beyond, subnormal, huge and in words, and whole random links.

python -m tools.attack.links --count 3000 --seed 1

A link is read as the pages read it; then the page computes, speaks, draws, tabulates and writes its script, without
Streamlit around it. What takes long by design (`slow`) is done beside a page and left out here.
"""

import argparse
import json
import logging
import math
import random
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from typing import Any
from urllib.parse import urlencode

from dpviz.fields.field import Choice, Field, Flag, Number, Several
from dpviz.questions.answer import Answer
from dpviz.questions.catalogue import PAGES as CATALOGUE
from dpviz.questions.question import Question
from dpviz.questions.script import script
from dpviz.ui import answers, state
from dpviz.ui.registry import FIELDS
from dpviz.ui.runs.fields import FIELDS as RUNS_FIELDS
from dpviz.ui.runs.fields import WATCHED as WATCH_FIELDS
from tools.attack.outcome import Outcome, TooLong, at_most, place, resident, rows

SECONDS = 10.0  # for one link
WHOLE_SECONDS = 150.0

PAGES = tuple(page.key for page in CATALOGUE)
ALL = {field.key: field for field in (*FIELDS, *WATCH_FIELDS, *RUNS_FIELDS)}
VIEWS = ("aview", "bview", "lview", "oview", "noiseq", "source", "t_method", "t_policy")
# Trains a network at each new setting, which a page says and shows progress of.
LEFT_ALONE = {"source": "measured"}
NO_WORD = re.compile(r"\b(nan|None|inf|np\.float64|Traceback)\b")

WORDS = (
    "", " ", "nan", "-inf", "inf", "0", "-0", "-1", "5e-324", "-5e-324", "1e-310", "1e308", "1e999", "-1e308", "1/0",
    "0/0", "1e-400", "1/3", "50%", "9" * 400, "1e", "0x10", "1_000", "½", "一", "\x00", "\ud7ff", "é" * 300, "a.b.c",
    "None", "<b>x</b>", "[a](x)", "true", "1~2~3", "1x0.01x5~axbxc", "../../x", "1 2", "+5", "--5", "1e5e5",
)  # fmt: skip


def texts(field: Field[Any]) -> list[str]:
    """What a hostile link says of `field`: what is everywhere hostile, and its own ends, just inside and beyond."""
    own: list[str] = []
    if isinstance(field, Number):
        for end, inner in ((field.low, math.inf), (field.high, -math.inf)):
            if math.isfinite(end):
                own += [repr(v) for v in (end, math.nextafter(end, inner), math.nextafter(end, -inner), 2 * end)]
                own += [repr(end + 1), repr(end - 1)] if field.whole else []
    elif isinstance(field, Choice | Several):
        own = [*options(field), ".".join(options(field))]
    return [*own, *WORDS]


def asked(page: str, query: str) -> tuple[str, ...]:
    """Keys of the fields that the page asks for under this link."""
    read, found = state.reader(query), dict[str, None]()

    def noting(field: Field[Any]) -> Any:
        found[field.key] = None
        return read(field)

    with suppress(ValueError):
        compute(page, noting)
    return tuple(found)


def compute(page: str, get: Any) -> tuple[Question[Any], Answer[Any]]:
    question = CATALOGUE[PAGES.index(page)].question(get)
    return question, answers.compute(question, get)


def words(question: Question[Any], answer: Answer[Any]) -> list[str]:
    """Make everything that a page shows of an answer; its words."""
    for more in (question.below, *question.more.values()):
        repr(more(answer))
    json.dumps(answer.plot.chart().figure)
    for table in (answer.plot.table(), answer.plot.data()):
        table.to_csv()
    for slow in question.slow:
        slow.key(answer)
    assert all(latex for _, latex in question.formulas(answer))
    compile(script(question, answer), "script", "exec")
    lines = [*map(str, question.metrics(answer)), *map(str, question.notes(answer))]
    return [question.headline(answer), answer.plot.alt, *lines]


def views(page: str) -> list[str]:
    """Links to the page's views: what each option of a field of VIEWS shows reads other fields."""
    keys = [key for key in asked(page, "") if key in VIEWS]
    return ["", *(urlencode({key: one}) for key in keys for one in options(ALL[key]) if LEFT_ALONE.get(key) != one)]


def options(field: Field[Any]) -> tuple[str, ...]:
    return tuple(field.options) if isinstance(field, Choice | Several) else ()


def each_field(pages: tuple[str, ...] = PAGES, views: Callable[[str], list[str]] = views) -> list[tuple[str, str]]:
    """Each of `pages` and its views with every hostile text of every field that it reads."""
    return [
        (page, "&".join(filter(None, [view, urlencode({key: text})])))
        for page in pages
        for view in views(page)
        for key in asked(page, view)
        for text in texts(ALL[key])
        if LEFT_ALONE.get(key) != text
    ]


def whole(rng: random.Random) -> Iterator[tuple[str, str]]:
    """Whole random links, without end: most fields legal, some hostile, some named twice, some unknown, some pins."""
    while True:
        pairs = []
        for field in rng.sample([*ALL.values()], rng.choice((1, 3, 10, 40))):
            pairs += [(field.key, one_text(field, rng))] * rng.choice((1, 1, 1, 2))
        if rng.random() < 0.2:
            pairs.append((rng.choice(("unknown", "preset", "pin", "")), rng.choice(WORDS)))
        pairs = [(key, text) for key, text in pairs if LEFT_ALONE.get(key) != text]
        yield rng.choice(PAGES), urlencode(pairs)


def one_text(field: Field[Any], rng: random.Random) -> str:
    if isinstance(field, Number) and rng.random() < 0.6:
        low, high = max(field.low, 1e-12), min(field.high, 1e12)
        drawn = math.exp(rng.uniform(math.log(low), math.log(max(high, 10.0 * low))))
        return field.write(float(round(drawn)) if field.whole else drawn)
    if isinstance(field, Flag):
        return rng.choice("01")
    if isinstance(field, Choice) and rng.random() < 0.8:
        return rng.choice([*field.options])
    return rng.choice(texts(field))


def follow(page: str, query: str) -> bool:
    """Read the link as `page` does and make all that it shows; whether it has a result, else it is refused in words.

    Raises:
        AssertionError: for words that are none.
    """
    read = state.reader(query)
    for field in ALL.values():
        read(field)
    try:
        result, refused = compute(page, read), ""
    except ValueError as problem:
        result, refused = None, str(problem)
    if result is None:
        assert 25 < len(refused) < 2_000, f"refused without a sentence: {refused}"
        return False
    said = words(*result)
    assert not NO_WORD.search(" ".join(said)), f"no word: {said}"
    return True


def attack(
    links: Iterable[tuple[str, str]], *, count: int, seconds: float = WHOLE_SECONDS, each: float = SECONDS
) -> Outcome:
    """Follow `links`, `count` of them at most, as many as fit into `seconds`."""
    found, began, before = Outcome(), time.monotonic(), resident()
    for page, query in islice(links, count):
        if time.monotonic() - began > seconds:
            break
        start = time.monotonic()
        try:
            with at_most(each), warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)  # a number that is none may follow
                if follow(page, query):
                    found.harmless += 1
                else:
                    found.refused += 1
        except (Exception, TooLong) as error:
            where = f"{page}: {place(error)}"
            found.broken[where] += 1
            found.examples.setdefault(where, query.encode())
        found.slowest = max(found.slowest, time.monotonic() - start)
        found.memory = max(found.memory, resident() - before)
    return found


def mixed(single: list[tuple[str, str]], seed: int) -> Iterator[tuple[str, str]]:
    """Links of one field and whole ones in turn, without end: those of one field in a seeded order."""
    rng = random.Random(seed)
    rng.shuffle(single)
    return chain(chain.from_iterable(zip(single, whole(rng), strict=False)), whole(rng))


def table(count: int = 3_000, seed: int = 1) -> str:
    """What came of it, as a Markdown section."""
    logging.getLogger("streamlit").setLevel(logging.ERROR)  # it says at every look that there is no session
    single = each_field()
    found = attack(mixed(single, seed), count=count)
    examples = "".join(f"\n- {where}: `?{link.decode()[:300]}`" for where, link in found.examples.items())
    return (
        "## Links\n\n"
        f"Every field of every page and view ({len(single):,} links, as many of them as the time allows) at its "
        "ends, beyond them, subnormal, huge and in words, and whole random links: each is read as the page reads it, "
        "computed, said, drawn, tabulated and exported.\n\n"
        + rows(found, "shown, values beyond a field's ends made legal").replace("slowest file", "slowest link")
        + examples
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=1)
    asked_for = parser.parse_args()
    print(table(asked_for.count, asked_for.seed))

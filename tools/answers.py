"""Every question's numbers at random settings, kept and compared: what a change of the code must leave as it is.

    python -m tools.answers record FILE [--each 12] [--seed 1]
    python -m tools.answers compare FILE

A record holds links and what follows from each: the columns of the chart's data and the numbers in headline and
metrics. Compared again, each number is the same to 1e-9 (relative), or the link is printed with its first difference;
with --columns only the chart's data are compared, which stay when words change.
"""

import argparse
import gzip
import json
import logging
import math
import random
import re
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any
from urllib.parse import parse_qsl, urlencode

from dpviz.fields.field import Choice, Field, Flag, Number, Several
from dpviz.questions import links
from dpviz.questions.answer import Answer, whole
from dpviz.questions.catalogue import PAGES
from dpviz.questions.layout import of_texts
from dpviz.questions.plain_text import plain_text
from dpviz.questions.question import Question

WIDTH = 1e-9
NUMBER = re.compile(r"[-−]?\d[\d  ,]*(?:\.\d+)?(?:e[-+−]?\d+)?|\.\d+")
LEFT_ALONE = {"source": "measured", "lkrun": "small"}  # trains a network
Numbers = dict[str, list[float]]


def random_links(each: int, seed: int) -> Iterator[tuple[str, str]]:
    """For every question: its defaults, every preset of its page, and `each` random settings of some of its fields."""
    for page in PAGES:
        for preset in page.presets:
            yield page.key, urlencode({"preset": preset.key, links.VERSION: links.TODAY})
        for question in page.questions:
            rng = random.Random(f"{seed} {question.key}")
            chosen = {page.choice.key: question.asked_as} if page.choice else {}
            yield page.key, urlencode(chosen | {links.VERSION: links.TODAY})
            for _ in range(each):
                fields = rng.sample(question.fields, min(len(question.fields), rng.choice((1, 2, 4, 8))))
                texts = {field.key: text(field, rng) for field in fields}
                texts = {key: value for key, value in texts.items() if LEFT_ALONE.get(key) != value}
                yield page.key, urlencode(texts | chosen | {links.VERSION: links.TODAY})


def text(field: Field[Any], rng: random.Random) -> str:
    """A legal value, as a link says it: a number near its default or at a stop of its slider."""
    if isinstance(field, Number):
        stop = rng.choice(field.ticks) if field.ticks else field.default
        near = field.default * math.exp(rng.gauss(0.0, 0.7))
        value = min(max(rng.choice((stop, near)), field.low), field.high)
        return field.write(float(round(value)) if field.whole and math.isfinite(value) else value)
    if isinstance(field, Flag):
        return rng.choice("01")
    if isinstance(field, Choice):
        return rng.choice([*field.options])
    if isinstance(field, Several):
        return ".".join(rng.sample([*field.options], rng.randint(1, len(field.options))))
    return field.write(field.default)


def asked(page: str, query: str) -> tuple[Question[Any], Answer[Any]]:
    """The question of a link and its whole answer; ValueError where there is none."""
    texts = links.read(dict(parse_qsl(query, keep_blank_values=True)))
    shown = next(shown for shown in PAGES if shown.key == page)
    get = of_texts(texts)
    question = shown.question(get)
    return question, whole(question.asked(question.read(get)), question.slow)


def numbers(words: str) -> list[float]:
    """Those in a sentence, in their order."""
    plain = plain_text(words)
    found = [re.sub(r"[  ,]", "", each).replace("−", "-") for each in NUMBER.findall(plain)]
    return [float(each) for each in found]


def answer(link: tuple[str, str]) -> tuple[tuple[str, str], str | Numbers]:
    """What follows from a link: the numbers, or why there are none."""
    began = time.monotonic()
    try:
        question, given = asked(*link)
    except ValueError as problem:
        return link, f"refused: {problem}"
    data = given.plot.data()
    columns = [data[name] for name in data.columns if data[name].dtype.kind in "if"]
    told = {"headline": numbers(question.headline(given))}
    told |= {f"metric {k}": numbers(str(each.value)) for k, each in enumerate(question.metrics(given))}
    told |= {f"column {k}": [float(v) for v in column] for k, column in enumerate(columns)}
    if (seconds := time.monotonic() - began) > 20:
        print(f"{seconds:.0f} s: /{link[0]}?{link[1]}", file=sys.stderr)
    return link, told


def first_difference(was: str | Numbers, now: str | Numbers, only: str = "") -> str:
    """Where two answers part, in what has a name that begins with `only`; empty where they do not."""
    if isinstance(was, str) or isinstance(now, str):
        both = isinstance(was, str) and isinstance(now, str)  # the words of a refusal may change
        return "" if both else f"{str(was)[:200]} → {str(now)[:200]}"
    for name in filter(lambda name: name.startswith(only), dict.fromkeys([*was, *now])):
        a, b = was.get(name, []), now.get(name, [])
        if len(a) != len(b):
            return f"{name}: {len(a)} numbers → {len(b)}"
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            if not (x == y or (x != x and y != y) or math.isclose(x, y, rel_tol=WIDTH, abs_tol=1e-300)):
                return f"{name}, {k}: {x!r} → {y!r}"
    return ""


def main() -> int:
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=("record", "compare"))
    parser.add_argument("file")
    parser.add_argument("--each", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pages", nargs="*")
    parser.add_argument("--columns", action="store_true")
    asked = parser.parse_args()
    if asked.task == "record":
        pairs = [pair for pair in random_links(asked.each, asked.seed) if not asked.pages or pair[0] in asked.pages]
        with ProcessPoolExecutor(2) as pool, gzip.open(asked.file, "wt") as file:
            for link, told in pool.map(answer, pairs):
                file.write(json.dumps([link, told]) + "\n")
        print(f"{len(pairs)} answers recorded")
        return 0
    with gzip.open(asked.file, "rt") as file:
        rows = [json.loads(line) for line in file]
    before = {tuple(link): told for link, told in rows if not asked.pages or link[0] in asked.pages}
    parted = 0
    with ProcessPoolExecutor(2) as pool:
        for link, told in pool.map(answer, before):
            if difference := first_difference(before[link], told, "column" * asked.columns):
                parted += 1
                print(f"/{link[0]}?{link[1]}\n    {difference}", flush=True)
    print(f"{len(before)} answers compared, {parted} differ")
    return 1 if parted else 0


if __name__ == "__main__":
    sys.exit(main())

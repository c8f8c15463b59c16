"""Exported runs, and thousands of ways to spoil one: what a stranger's file may hold.

>>> spoilt({"format": "dpviz-run"}, random.Random(1)) != spoilt({"format": "dpviz-run"}, random.Random(2))
True
"""

import copy
import json
import math
import random
import re
from collections.abc import Callable
from typing import Any

from tests.runs.exported import lines

Tree = Any
Path = tuple[Any, ...]

_NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 0.5, -0.5, 1e8, 1e12, 2**31, 2**53, 2**63, 2**70, 10**400, -(10**400), 1e308, -1e308, 5e-324, 1e-300,
    math.nan, math.inf, -math.inf, 99, 1e5, 1_000_000,
)  # fmt: skip
_TEXTS = (
    "", " ", "x", "NaN", "Infinity", "-Infinity", "null", "../../etc/passwd", "\x00", "\ud800", "\u202egnp.exe",
    "é" * 50,
    "🔥", "a\nb", "<script>alert(1)</script>", "![x](https://example.com/x.png)", "[a](javascript:alert(1))",
    "<img src=x onerror=alert(1)>", ":red[x] $\\frac{1}{2}$ :material/delete:", "**b** `c`",
    "www.example.com", "{run}",
    "dp_sgd", "mnist", "done", "x" * 5_000, "y" * 300_000, "=cmd|'/c calc'!A1", "1e400", "<b>x</b>", "adaptive_noise",
)  # fmt: skip
_VALUES: tuple[Any, ...] = (None, True, False, [], {}, [[]], [None], {"": 0}, [1, 2, 3], {"a": {"b": []}}, [[1, 2, 3]])


# Stands for brackets in brackets until the tree is text: copying it in earnest would end in Python's own limit.
_NESTED = re.compile(r'"nested (\d+) (\w+)"')


def _nested(found: re.Match[str]) -> str:
    depth = int(found.group(1))
    return '{"a":' * depth + "0" + "}" * depth if found.group(2) == "objects" else "[" * depth + "]" * depth


def paths(tree: Tree) -> list[Path]:
    """Every place in the tree, the root apart; of long lists the first, the last and one between."""
    found: list[Path] = []

    def walk(at: Tree, path: Path) -> None:
        if isinstance(at, dict):
            entries: Any = at.items()
        elif isinstance(at, list):
            entries = [(i, at[i]) for i in sorted({0, len(at) // 2, len(at) - 1}) if 0 <= i < len(at)]
        else:
            return
        for key, value in entries:
            found.append((*path, key))
            walk(value, (*path, key))

    walk(tree, ())
    return found


def _holder(tree: Tree, path: Path) -> Any:
    for key in path[:-1]:
        tree = tree[key]
    return tree


def _number(_: Any, rng: random.Random) -> Any:
    return rng.choice(_NUMBERS)


def _text(_: Any, rng: random.Random) -> Any:
    return rng.choice(_TEXTS)


def _value(_: Any, rng: random.Random) -> Any:
    return copy.deepcopy(rng.choice(_VALUES))


def _deep(_: Any, rng: random.Random) -> Any:
    return f"nested {rng.choice((3, 40, 600, 100_000))} {rng.choice(('objects', 'lists'))}"


def _scaled(value: Any, rng: random.Random) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value * rng.choice((-1, 0.999, 1.001, 2, 10, 1e6, 1e-6)) if rng.random() < 0.7 else value + 1
    return _number(value, rng)


def _stretched(value: Any, rng: random.Random) -> Any:
    if isinstance(value, list) and value:
        many = value * (2_000 if len(value) < 100 else 20)  # twice in one file is a hundred MB at most
        return rng.choice((value[:-1], value[1:], value + value[:1], value * 3, value[::-1], many))
    if isinstance(value, str):
        return value * 500
    return [value] * rng.choice((2, 3_000))


_CHANGES: tuple[Callable[[Any, random.Random], Any], ...] = (
    _number, _text, _value, _deep, _scaled, _scaled, _stretched,
)  # fmt: skip


def _one(tree: Tree, rng: random.Random) -> None:
    """Spoil one place."""
    everywhere = paths(tree)
    if not everywhere:
        return
    # A kind of place (whatever the list index) is as likely as any other: the many numbers do not hide the few names.
    shapes = sorted({tuple("*" if isinstance(k, int) else k for k in path) for path in everywhere})
    shape = rng.choice(shapes)
    path = rng.choice([p for p in everywhere if tuple("*" if isinstance(k, int) else k for k in p) == shape])
    holder, key = _holder(tree, path), path[-1]
    what = rng.random()
    if what < 0.1:
        del holder[key]
    elif what < 0.15 and isinstance(holder, dict):
        holder[rng.choice(("extra", "__class__", "x" * 3_000, "step", "epsilon", "kind"))] = _value(None, rng)
    elif what < 0.25:
        other = rng.choice(everywhere)
        holder[key] = copy.deepcopy(_holder(tree, other)[other[-1]])
    elif what < 0.3 and isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), copy.deepcopy(holder[key]))
    else:
        holder[key] = rng.choice(_CHANGES)(holder[key], rng)


def spoilt(tree: Tree, rng: random.Random) -> bytes:
    """One to three places of the tree changed; sometimes its text besides (cut, doubled keys, other bytes)."""
    found = copy.deepcopy(tree)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        _one(found, rng)
    plain = rng.random() < 0.5
    text = _NESTED.sub(_nested, "\n".join(json.dumps(line, ensure_ascii=plain) for line in lines(found)))
    what = rng.random()
    if what < 0.03:
        at = text.find('":', rng.randrange(max(len(text) - 10, 1)))
        start = text.rfind('"', 0, at)
        if 0 < start < at:  # the key twice
            text = text[:start] + text[start : at + 2] + rng.choice(("0", '"x"', "[]", "1e9")) + ", " + text[start:]
    elif what < 0.05:
        cut = rng.randrange(len(text))
        text = text[:cut] + text[cut + rng.choice((1, 7, 900)) :]
    return text.encode("utf-8", "surrogatepass")

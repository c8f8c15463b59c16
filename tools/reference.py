"""Write docs/use/reference.md, a line for each public name with its arguments: ``python -m tools.reference [FILE]``.

Groups and their order are those of `dpviz`'s docstring; words and arguments are those of docstrings and signatures.
"""

import importlib
import inspect
import re
import sys
import textwrap
import typing
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import dpviz
from dpviz.questions.asked import Asked, ask
from dpviz.questions.guarantee.plan import guarantee
from dpviz.questions.pasted.translate import Translation, translate
from dpviz.runs.told.watch import WatchedRun

TARGET = Path(__file__).resolve().parents[1] / "docs" / "use" / "reference.md"
HEAD = """# API reference

The public names of the library, in the groups of `help(dpviz)`; `help(dpviz.epsilon)` says more of one. `=…` marks an
argument that may be left out. A wrong argument raises a `ValueError` that says what would do. This page is written by
`python -m tools.reference`.
"""
LARGEST_DEFAULT = 24  # characters of a default value that a signature shows

# Functions of `dpviz` that load others when they are called, and those others, which are described.
BEHIND: dict[str, Any] = {"ask": ask, "guarantee": guarantee, "translate": translate}
# Modules whose names are at no other place.
ONE_PLACE = ("bayesian", "langevin", "papers", "pate")
# What these packages and functions give, beside the names of the top.
FURTHER: dict[str, tuple[tuple[str, Any], ...]] = {
    "ask": (("Asked", Asked),),
    "translate": (("Translation", Translation),),
    "watch": (("WatchedRun", WatchedRun),),
}
LATER = {
    "training": ("dpviz.training.private", ("PrivateTraining", "Step")),
    "accountant": ("dpviz.accounting.card", ("Card",)),
}


def page() -> str:
    """Markdown: a section for each group, a list item for each name."""
    assert dpviz.__doc__ is not None
    parts = [HEAD]
    for title, names in re.findall(r"^- ([^:]+): ([\w, \n]+)$", dpviz.__doc__, re.M):
        lines = [line for name in re.findall(r"\w+", names) for line in _named(name)]
        parts.append("\n".join([f"## {title}\n", *lines]) + "\n")
    return "\n".join(parts)


def _named(name: str) -> Iterator[str]:
    """Lines of a public name, and of what belongs to it."""
    value = BEHIND.get(name, getattr(dpviz, name))
    if isinstance(value, ModuleType):
        yield f"- **{name}**: {_summary(value)}"
        for inner, each in vars(value).items():
            if getattr(each, "__module__", "").startswith("dpviz.") and name in ONE_PLACE:
                yield from _described(f"{name}.{inner}", each)
    else:
        yield from _described(name, value)
    module, inner_names = LATER.get(name, ("", ()))
    for inner in inner_names:
        yield from _described(inner, getattr(importlib.import_module(module), inner))
    for inner, each in FURTHER.get(name, ()):
        yield from _described(inner, each)


def _described(name: str, value: Any) -> Iterator[str]:
    """The line of a name, then its arguments, attributes, results, errors and methods."""
    if not callable(value):
        yield f"- **{name}**: `{value!r}`"
        return
    if inspect.isclass(value) and issubclass(value, Exception) and "__init__" not in vars(value):
        yield f"- **{name}**: {_summary(value)}"  # its arguments are Python's
        return
    yield f"- **{name}**`({_signature(value)})`: {_summary(value)}"
    yield from _sections(value)
    if inspect.isclass(value):
        yield from _inherited(value)
    if inspect.isclass(value) and not issubclass(value, dpviz.Mechanism):
        for inner, method in _methods(value):
            shown = f"({_signature(method)})" if inspect.isfunction(method) else ""
            yield f"    - `.{inner}{shown}`: {_summary(method)}"


def _inherited(kind: type) -> Iterator[str]:
    """Items for arguments of a class that its bases describe."""
    wanted = {name for name in inspect.signature(kind).parameters if f"`{name}`" not in "".join(_sections(kind))}
    for each in kind.__mro__[1:]:
        for item in _sections(each) if each.__module__.startswith("dpviz.") else ():
            names = set(item.partition("`: ")[0].strip(" -`").split(", "))
            if names & wanted:
                wanted -= names
                yield item


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties of a class and its bases that are ours, those of bases last."""
    seen = set()
    for each in kind.__mro__:
        for name, value in vars(each).items() if each.__module__.startswith("dpviz.") else ():
            if isinstance(value, classmethod | staticmethod):
                value = value.__func__
            described = inspect.isfunction(value) or isinstance(value, property | cached_property)
            if described and not name.startswith("_") and name not in seen and inspect.getdoc(value):
                seen.add(name)
                yield name, value


def _signature(value: Any) -> str:
    """Arguments with their defaults, without types; those of ``**step: Unpack[…]`` one by one."""
    written, marked = [], False
    for argument in inspect.signature(value).parameters.values():
        if argument.name in ("self", "cls") or argument.name.startswith("_"):
            continue
        if argument.kind is argument.VAR_KEYWORD and (keys := _keys(value, argument.annotation)):
            written += [] if marked else ["*"]
            written += keys
            continue
        if argument.kind is argument.KEYWORD_ONLY and not marked:
            written.append("*")
            marked = True
        stars = "**" if argument.kind is argument.VAR_KEYWORD else ""
        shown = repr(argument.default).replace("'", '"').replace("e-0", "e-")
        short = shown if len(shown) <= LARGEST_DEFAULT and "<" not in shown else "…"
        written.append(f"{stars}{argument.name}{'' if argument.default is argument.empty else f'={short}'}")
    return ", ".join(written)


def _keys(function: Any, annotation: Any) -> list[str]:
    """The arguments that a dictionary of types has."""
    if isinstance(annotation, str):
        annotation = eval(annotation, vars(importlib.import_module(function.__module__)))
    if typing.get_origin(annotation) is not typing.Unpack:
        return []
    (table,) = typing.get_args(annotation)
    return [key if key in table.__required_keys__ else f"{key}=…" for key in table.__annotations__]


def _text(value: Any) -> str:
    """The docstring without its examples."""
    return re.sub(r"^>>> .*(?:\n\S.*|\n .*)*\n?", "", inspect.getdoc(value) or "", flags=re.M).strip()


def _summary(value: Any) -> str:
    """The first paragraph of the docstring, on one line."""
    return " ".join(_text(value).partition("\n\n")[0].split())


def _sections(value: Any) -> Iterator[str]:
    """Items for each argument, attribute, result and error."""
    for title, body in re.findall(r"^(Args|Attributes|Returns|Raises):\n((?:[ \t]+.*\n?|\n)+)", _text(value), re.M):
        body = textwrap.dedent(body).strip()
        if title == "Returns":
            yield f"    - Returns: {' '.join(body.split())}"
            continue
        for item in re.split(r"\n(?=\S)", body):
            name, _, words = " ".join(item.split()).partition(": ")
            yield f"    - {'Raises ' if title == 'Raises' else ''}`{name}`: {words}"


if __name__ == "__main__":
    (Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET).write_text(page(), encoding="utf-8")

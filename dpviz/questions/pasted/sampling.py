"""Sampling in a text: how batches are made, which data sets are neighbours, and who is protected."""

import ast
from collections.abc import Callable, Iterator

from dpviz.questions.check.fields import ADJACENCY, SAMPLER
from dpviz.questions.pasted.bindings import Bindings
from dpviz.questions.pasted.evidence import Evidence, chosen
from dpviz.questions.pasted.loops import walked
from dpviz.questions.pasted.names import name_of
from dpviz.questions.pasted.quantities import CHANGES, POISSON_NOT, WORDS
from dpviz.questions.pasted.vocabulary import (
    NEIGHBOURS,
    NEIGHBOURS_KEY,
    NOTHING,
    ONE_EXAMPLE,
    SAMPLING,
    SAMPLING_KEY,
    SAMPLING_SWITCHES,
    SHUFFLE_SWITCH,
    UNIT_KEY,
    UNIT_SWITCH,
    meaning,
    word_of,
)

# Calls that make batches, and how.
MAKERS = {
    word: choice for word, choice in SAMPLING.items() if "sampler" in word or word == "dpdataloader"
} | dict.fromkeys(("privatetraining", "cyclicpoissonsampling"), "poisson")
Value = tuple[str | bool | None, int]  # a word, a switch, or None where it is neither; with its line


def sampler(bindings: Bindings) -> Evidence:
    """How batches are made: by a key, by a call that makes them so, or by Opacus, whose default is Poisson.

    Without any of these, a loader's shuffle option decides. A key whose value is not understood leaves it open.
    """
    choices = [*_of_keys(bindings), *_of_calls(bindings)]
    if not choices:
        orders = {True: "shuffled", False: "partition"}
        choices = [
            (orders[value] if isinstance(value, bool) else meaning(SAMPLING, value or "unknown") or "", line)
            for value, line in _values(bindings, SHUFFLE_SWITCH.fullmatch)
        ]
        if not choices and any("keras" in name for name in bindings.calls):  # its `fit` shuffles unless told otherwise
            choices = [("shuffled", call.lineno) for call in bindings.calls.get("fit", ())]
    return chosen(SAMPLER.key, choices)


def neighbours(bindings: Bindings) -> Evidence:
    """Which data sets must look alike."""
    relations = WORDS["neighbours"]
    named = [n for n in bindings.nodes if isinstance(n, ast.Name | ast.Attribute) and name_of(n) in relations]
    choices = [(relations[name_of(node)], node.lineno) for node in named]
    for value, line in _values(bindings, NEIGHBOURS_KEY.fullmatch):
        choice = "" if not isinstance(value, str) else meaning(NEIGHBOURS, value)
        if choice is not None:
            choices.append((choice, line))
    return chosen(ADJACENCY.key, choices)


def units(bindings: Bindings) -> list[tuple[int, str, str]]:
    """Line, name and problem of keys that say, or may say, that several examples are protected together."""
    problem = WORDS["units"]["other"]
    problems = []
    for name in bindings:
        for value, line in _values_of(bindings, name) if UNIT_KEY.fullmatch(name) else ():
            one = isinstance(value, str) and (ONE_EXAMPLE.fullmatch(word_of(value)) or word_of(value) in NOTHING)
            problems += [] if one else [(line, name, problem)]
        for value, line in _values_of(bindings, name) if UNIT_SWITCH.fullmatch(name) else ():
            problems += [] if value is False else [(line, name, problem)]
    return problems


def _of_keys(bindings: Bindings) -> Iterator[tuple[str, int]]:
    """Choices by keys of a configuration, keywords and options."""
    for value, line in _values(bindings, SAMPLING_KEY.fullmatch):
        choice = meaning(SAMPLING, value) if isinstance(value, str) else ""
        if choice is not None:
            yield choice, line
    for key, (on, off) in SAMPLING_SWITCHES.items():
        for value, line in _values(bindings, key.fullmatch):
            switched = {True: on, False: off}[value] if isinstance(value, bool) else ""
            if switched is not None:
                yield switched, line


def _of_calls(bindings: Bindings) -> Iterator[tuple[str, int]]:
    """Choices by calls that make batches."""
    for name, calls in bindings.calls.items():
        for call in calls:
            if name.startswith("make_private"):
                if not any(word.arg == "poisson_sampling" for word in call.keywords):
                    yield "poisson", call.lineno
                yield from (("", line) for line in _other_loaders(bindings, call))
            elif name in MAKERS or CHANGES[SAMPLER.key].search(name):
                plain = not {word.arg for word in call.keywords} & POISSON_NOT
                yield (MAKERS.get(name, "") if plain else ""), call.lineno


def _values(bindings: Bindings, matches: Callable[[str], object]) -> Iterator[Value]:
    for name in bindings:
        if matches(name):
            yield from _values_of(bindings, name)


def _values_of(bindings: Bindings, name: str) -> Iterator[Value]:
    """The words and switches that a name is given; an imported module of that name is none."""
    imports = {
        n.lineno
        for n in bindings.nodes
        if isinstance(n, ast.Import | ast.ImportFrom) and any(_is(a, name) for a in n.names)
    }
    for value, line in bindings.bound(name):
        if value is None and line in imports:
            continue
        yield from _words(bindings, value, line, (name,))


def _is(alias: ast.alias, name: str) -> bool:
    return (alias.asname or alias.name.split(".")[-1]).lower() == name


def _words(bindings: Bindings, value: ast.expr | None, line: int, visited: tuple[str, ...]) -> Iterator[Value]:
    """The words that an expression may be; a constant None says nothing."""
    match value:
        case ast.Constant(value=None):
            return
        case ast.Constant(value=str() | bool() as text):
            yield text, line
            return
        case ast.IfExp(body=one, orelse=other):
            parts: list[ast.expr] = [one, other]
        case ast.BoolOp():
            parts = value.values
        case ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call():
            name = name_of(value)
            if name in visited:
                return
            bound = [] if isinstance(value, ast.Call) else bindings.bound(name)
            if not bound:
                yield (name if meaning(SAMPLING, name) or meaning(NEIGHBOURS, name) else None), line
            for expression, _ in bound:
                yield from _words(bindings, expression, line, (*visited, name))
            return
        case _:
            yield None, line
            return
    for part in parts:
        yield from _words(bindings, part, line, visited)


def _other_loaders(bindings: Bindings, call: ast.Call) -> list[int]:
    """Lines whose steps do not go through the Poisson loader that make_private returns."""
    private = _private_loaders(bindings, call)
    thrown = [call.lineno] if any(name.startswith("_") for name in private) else []
    return thrown + [line for name, line in _walked_in_training(bindings) if private and name not in private]


def _private_loaders(bindings: Bindings, call: ast.Call) -> set[str]:
    """Names of the Poisson loader: the last of what make_private returns, and what a memory manager makes of it."""
    statement = bindings.parents.get(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    private = {name_of(t.elts[-1]) for t in targets if isinstance(t, ast.Tuple) and t.elts}
    for node in bindings.nodes:
        match node:
            case ast.withitem(context_expr=ast.Call() as manager, optional_vars=ast.expr() as split):
                split_loaders = {name_of(word.value) for word in manager.keywords if word.arg == "data_loader"}
                if name_of(manager) == "batchmemorymanager" and split_loaders & private:
                    private.add(name_of(split))
    return private


def _walked_in_training(bindings: Bindings) -> Iterator[tuple[str, int]]:
    """What loops that take gradients go through, by name, with their lines."""
    for node in bindings.nodes:
        if not (isinstance(node, ast.For) and isinstance(loader := walked(node.iter), ast.Name | ast.Attribute)):
            continue
        if any(isinstance(part, ast.Call) and name_of(part) == "backward" for part in ast.walk(node)):
            yield name_of(loader), node.lineno

"""An accountant's record read from a text: Opacus's history or dp_accounting's events, as events here."""

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from dpviz import library as dpviz
from dpviz.mechanisms import Event, Mechanism, merge_events
from dpviz.questions.pasted.bindings import Bindings
from dpviz.questions.pasted.names import name_of
from dpviz.questions.pasted.quantities import WORDS

MOST_STEPS = 2**53
ASK = WORDS["ask"]
# dp_accounting's events → their numbers, in order, and the mechanism; `SAMPLED` ones hold an event behind them.
EVENTS: dict[str, tuple[tuple[str, ...], Callable[..., Mechanism]]] = {
    "gaussiandpevent": (("noise_multiplier",), dpviz.SampledGaussian),
    "laplacedpevent": (("noise_multiplier",), dpviz.Laplace),
    "truncatedsubsampledgaussiandpevent": (
        ("dataset_size", "sampling_probability", "truncated_batch_size", "noise_multiplier"),
        lambda size, rate, largest, sigma: dpviz.TruncatedPoisson(sigma, rate, int(size), int(largest)),
    ),
}
# Events that are made of others → what they are given.
COMPOSED: dict[str, tuple[str, ...]] = {
    "selfcomposeddpevent": ("event", "count"),
    "composeddpevent": ("events",),
    "noopdpevent": (),
}
SAMPLED: dict[str, tuple[tuple[str, ...], Callable[..., Mechanism]]] = {
    "poissonsampleddpevent": (("sampling_probability",), lambda step, rate: replace(step, sample_rate=rate)),
    "sampledwithoutreplacementdpevent": (
        ("source_dataset_size", "sample_size"),
        lambda step, size, batch: dpviz.FixedSize(step.noise_multiplier, size, batch),
    ),
}


def events_of(
    bindings: Bindings, *, program: bool, repeats: Callable[[ast.AST], int | None]
) -> tuple[str, tuple[Event, ...], tuple[int, ...]]:
    """ "history" or "events", what an accountant counted, in its order, and the lines; empty where there is nothing.

    Args:
        program: whether the text is a program. There a history is known by its name, and events that are composed count
            as often as that happens.
        repeats: how often a node of the program runs; None where that is not known.

    Raises:
        ValueError: there are several histories, or something in them cannot be read.
    """
    composed = _composed(bindings, repeats) if program else None
    if composed is not None:
        return "events", _released(composed[0]), composed[1]
    roots = list(_roots(bindings.nodes[0]))
    if program:
        roots = [root for root in roots if isinstance(root, ast.Call) or _is_history(bindings, root)]
        roots = [root for root in roots if not _is_part(bindings, root)]
    if len(roots) > 1:
        raise ValueError(ASK["several"].format(count=len(roots)))
    if not roots:
        return "", (), ()
    kind = "events" if isinstance(roots[0], ast.Call) else "history"
    events = _of_call(bindings, roots[0]) if kind == "events" else [_row(bindings, row) for row in roots[0].elts]
    return kind, _released(events), tuple(range(roots[0].lineno, roots[0].end_lineno + 1))


def histories_in(bindings: Bindings) -> tuple[int, ...]:
    """Lines of a program that hold an accountant's history."""
    return tuple(
        root.lineno
        for root in _roots(bindings.nodes[0])
        if isinstance(root, ast.List | ast.Tuple) and _is_history(bindings, root)
    )


def _released(events: Iterable[Event]) -> tuple[Event, ...]:
    return tuple(event for event in merge_events(events) if event[0].releases)


def _composed(
    bindings: Bindings, repeats: Callable[[ast.AST], int | None]
) -> tuple[list[Event], tuple[int, ...]] | None:
    """What a program's accountant composes: accountant.compose(event, count); None where it composes no event."""
    events: list[Event] = []
    lines: list[int] = []
    for call in bindings.calls.get("compose", ()):
        given = {word.arg: word.value for word in call.keywords}
        argument = call.args[0] if call.args else given.get("event")
        if argument is None or not name_of(event := _resolved(bindings, argument)).endswith("dpevent"):
            continue
        count = call.args[1] if len(call.args) > 1 else given.get("count")
        times = whole(_number(bindings, count, "count")) if count is not None else 1
        if (often := repeats(call)) is None:
            raise ValueError(ASK["composed"].format(line=call.lineno))
        events += [(step, whole(float(each * times * often))) for step, each in _of_call(bindings, event)]
        lines.append(call.lineno)
    return (events, tuple(lines)) if lines else None


def _resolved(bindings: Bindings, node: ast.AST) -> ast.AST:
    """The one expression behind a name; the node itself where there is none, or there are several."""
    seen: set[str] = set()
    while isinstance(node, ast.Name | ast.Attribute) and (name := name_of(node)) not in seen:
        seen.add(name)
        values = [value for value in bindings.expressions(name) if value is None or name_of(value) != name]
        if len(values) != 1 or values[0] is None:
            return node
        node = values[0]
    return node


def _is_history(bindings: Bindings, rows: ast.AST) -> bool:
    """Whether a program's list is called a history, or stands alone or in what is printed."""
    up = bindings.parents.get(rows)
    match up:
        case ast.Assign(targets=[target]):
            return name_of(target).endswith("history")
        case ast.keyword(arg=str() as name):
            return name.lower().endswith("history")
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return any(
                value is rows and isinstance(key, ast.Constant) and key.value == "history" for key, value in pairs
            )
        case ast.Tuple(elts=[ast.Constant(value="history"), _]) | ast.Expr():
            return True
        case ast.Call():
            history = isinstance(up.func, ast.Attribute) and name_of(up.func.value).endswith("history")
            return name_of(up) == "print" or history
    return False


def _is_part(bindings: Bindings, event: ast.AST) -> bool:
    """Whether an event has a name that another event holds."""
    up = bindings.parents.get(event)
    names = {name_of(target) for target in up.targets} if isinstance(up, ast.Assign) else set()
    for node in bindings.nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and name_of(node) in names:
            while (node := bindings.parents.get(node)) is not None:  # type: ignore[assignment]
                if isinstance(node, ast.Call) and name_of(node).endswith("dpevent"):
                    return True
    return False


def _roots(node: ast.AST) -> Iterable[Any]:
    """The outermost events, and lists of rows of three values."""
    rows = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    history = bool(rows) and all(isinstance(row, ast.List | ast.Tuple) and len(row.elts) == 3 for row in rows)
    if history or (isinstance(node, ast.Call) and name_of(node).endswith("dpevent")):
        yield node
    else:
        for child in ast.iter_child_nodes(node):
            yield from _roots(child)


def _row(bindings: Bindings, row: Any) -> Event:
    sigma, rate, count = row.elts
    step = dpviz.SampledGaussian(_number(bindings, sigma, "noise multiplier"), _number(bindings, rate, "sampling rate"))
    return step, whole(_number(bindings, count, "steps"))


def _of_call(bindings: Bindings, node: ast.AST) -> list[Event]:
    """The steps of an event of dp_accounting."""
    node = _resolved(bindings, node)
    name = name_of(node)
    if not isinstance(node, ast.Call) or name not in COMPOSED | EVENTS | SAMPLED:
        raise ValueError(f"{_short(node)} has no translation.")
    if name in COMPOSED:
        return _of_composition(bindings, _arguments(node, COMPOSED[name]))
    numbers, make = (EVENTS | SAMPLED)[name]
    words = _arguments(node, (*numbers, "event") if name in SAMPLED else numbers)
    inner = _of_call(bindings, words["event"]) if name in SAMPLED else []
    if name in SAMPLED and [(type(step), times, getattr(step, "sample_rate", 0.0)) for step, times in inner] != [
        (dpviz.SampledGaussian, 1, 1.0)
    ]:
        raise ValueError(f"{_short(node)} has no translation: it does not sample one release of Gaussian noise.")
    return [(make(*(step for step, _ in inner), *(_number(bindings, words[key], key) for key in numbers)), 1)]


def _of_composition(bindings: Bindings, words: Mapping[str, ast.expr]) -> list[Event]:
    """The steps of an event that is made of others: several in a row, one several times, or none."""
    if "events" in words:
        if not isinstance(parts := _resolved(bindings, words["events"]), ast.List | ast.Tuple):
            raise ValueError(f"Expected a list of events, found {_short(parts)}.")
        return [event for part in parts.elts for event in _of_call(bindings, part)]
    if "event" not in words:
        return []
    inner = _of_call(bindings, words["event"])
    count = whole(_number(bindings, words["count"], "count"))
    return [(step, whole(times * count)) for step, times in inner]


def _arguments(call: ast.Call, names: tuple[str, ...]) -> dict[str, ast.expr]:
    """What a call gives to its parameters, by name; ValueError where that is not each of them once."""
    words = {word.arg: word.value for word in call.keywords} | dict(zip(names, call.args, strict=False))
    if words.keys() != set(names) or len(call.args) + len(call.keywords) != len(words):
        raise ValueError(f"Expected {', '.join(names)} in {_short(call)}.")
    return words  # type: ignore[return-value]


def _number(bindings: Bindings, node: ast.expr, name: str) -> float:
    values = {reading.value for reading in bindings.evaluate(node)}
    value = next(iter(values)) if len(values) == 1 else None
    if value is None or isinstance(value, bool):
        raise ValueError(f"{name} = {_short(node)} cannot be read as a number.")
    return value


def whole(count: float) -> int:
    if not (1 <= count < MOST_STEPS and count == int(count)):
        raise ValueError(f"Expected a whole number of steps from 1 to 9e15, found {count:.12g}.")
    return int(count)


def _short(node: ast.AST) -> str:
    return ast.unparse(node)[:60]

"""The length of a training as its loops give it: loops around a step that is seen, and loops that may hold steps."""

import ast
import re
from collections.abc import Sequence
from itertools import product

from dpviz.questions.pasted.bindings import Reading
from dpviz.questions.pasted.lengths import EPOCHS, STEPS, Length, Span
from dpviz.questions.pasted.loops import MOST_WAYS, Loop, Loops, goes_through_loader, line_of, variable
from dpviz.questions.pasted.names import name_of
from dpviz.questions.pasted.training_calls import (
    DRAWS,
    STEPS_TAKEN,
    calls_of,
    may_take_steps,
    may_train,
    of_scheduler,
)


def loop_spans(loops: Loops) -> list[Span]:
    """The length of each loop around a step, and of loops in which steps cannot be seen."""
    spans: list[Span] = []
    seen: set[ast.AST] = set()
    for call in _steps(loops):
        for way in loops.around(call):
            seen |= set(way)
            spans += _lengths(loops, way, direct=True)
    for loop in [node for node in loops.bindings.nodes if isinstance(node, Loop)]:
        if isinstance(loop, ast.While):
            spans.append(Span((Length(EPOCHS, (Reading(None, loop.lineno),)),)))
        elif loop not in seen and loops.counts(loop) and _may_hold_steps(loops, loop):
            inner = (node for node in loops.inside(loop) if isinstance(node, Loop) and loops.counts(node))
            if not any(_may_hold_steps(loops, node) for node in inner):
                for outer in loops.around(loop):
                    spans += _lengths(loops, [loop, *outer], direct=False)
    return list(dict.fromkeys(spans))


def _steps(loops: Loops) -> list[ast.Call]:
    """Calls that take one step; where there are none, those that draw one batch."""
    for names in (STEPS_TAKEN, DRAWS):
        calls = [call for call in calls_of(loops.bindings, names) if not of_scheduler(call)]
        calls = [call for call in calls if name_of(call) not in loops.bindings.functions]
        if calls:
            return calls
    return []


def _lengths(loops: Loops, way: Sequence[ast.AST], *, direct: bool) -> list[Span]:
    """The lengths that loops give, the innermost first, around a step that is seen (`direct`) or may be there."""
    if not way:
        return []
    inner, *_ = way
    passes = direct and loops.counts(inner) is None and not isinstance(inner, ast.While) and goes_through_loader(inner)
    factors = [loops.counts(loop) for loop in (way[1:] if passes else way)]
    if passes and not factors:
        one_pass = Span((Length(EPOCHS, (Reading(1.0, line_of(inner)),), passes=True),))
        return [] if loops.is_open(inner) else [one_pass]
    counts = [[(Reading(None, line_of(way[-1])),) * 2] if one is None else one for one in factors]
    spans = []
    for chosen in list(product(*counts))[:MOST_WAYS]:
        both = dict.fromkeys(tuple(Reading(*pair[end]) for pair in reversed(chosen)) for end in (0, 1))
        units = (EPOCHS,) if passes else _units(loops, inner, direct=direct)
        spans.append(Span(tuple(Length(unit, each, passes=passes) for unit in units for each in both)))
    return spans


def _units(loops: Loops, loop: ast.AST, *, direct: bool) -> tuple[str, ...]:
    """What the innermost counted loop counts: steps where one is seen directly in it, and nothing in it may loop.

    Where no step is seen, it counts epochs if it says so, and else one or the other.
    """
    named = variable(loop)
    if direct:
        return (STEPS,) if "epoch" not in named and not _loops_again(loops, loop) else (EPOCHS, STEPS)
    called = {name_of(node) for node in loops.inside(loop) if isinstance(node, ast.Call)}
    stepwise = re.search("step|iter|update|batch", named)
    says_epochs = "epoch" in named or (not stepwise and any("epoch" in name for name in called))
    return (EPOCHS,) if says_epochs else (EPOCHS, STEPS)


def _may_hold_steps(loops: Loops, loop: ast.AST) -> bool:
    """Whether a loop calls what may take a step."""
    return any(isinstance(node, ast.Call) and may_train(node) for node in loops.inside(loop))


def _loops_again(loops: Loops, loop: ast.AST) -> bool:
    """Whether something within a loop, beside its own step, may take steps in a loop of its own."""
    for node in loops.inside(loop):
        if isinstance(node, Loop) and any(map(may_take_steps, loops.inside(node))):
            return True
        if isinstance(node, ast.Call):
            defined = loops.bindings.functions.get(name_of(node), ())
            if any(isinstance(part, Loop) for function in defined for part in ast.walk(function)):
                return True
            if not defined and may_take_steps(node) and not STEPS_TAKEN.search(name_of(node)):
                return True
    return False

"""Lines of a program that do more than once, or may do, what its ε is stated for once: trainings, engines, batches."""

import ast
import re

from dpviz.questions.pasted.bindings import Bindings
from dpviz.questions.pasted.loops import Loop, Loops, goes_through_loader, variable
from dpviz.questions.pasted.names import name_of
from dpviz.questions.pasted.training_calls import (
    ENGINE,
    STEPS_TAKEN,
    TRAINS,
    TRAINS_NOT,
    calls_of,
    of_accountant,
    of_scheduler,
)

ACCUMULATION = re.compile(r"accum|virtual_step|batchmemorymanager|physical_batch|micro_?batch|skip_step")
REPEATS = re.compile("seed|run|trial|fold|repe|restart|replic|attempt|teacher")  # what loops count that train anew


def repetitions(loops: Loops) -> dict[str, tuple[int, ...]]:
    """Lines of "engines" and "trainings" where there may be several, and of "accumulation" of batches in a step."""
    return {"engines": _engines(loops), "trainings": _trainings(loops), "accumulation": _accumulation(loops.bindings)}


def _engines(loops: Loops) -> tuple[int, ...]:
    calls = calls_of(loops.bindings, ENGINE)
    made = loops.bindings.calls.get("privacyengine", [])
    ways = [[way for call in kind for way in loops.around(call)] for kind in (calls, made)]
    many = any(len(each) > 1 or any(each) for each in ways)
    lines = {call.lineno for call in (*calls, *made)} if many else set()
    return tuple(sorted(lines | _passed_on(loops.bindings, ENGINE)))


def _passed_on(bindings: Bindings, names: re.Pattern[str]) -> set[int]:
    """Lines that take such a method without calling it."""
    taken = (node for node in bindings.passed_on() if isinstance(node, ast.Attribute))
    return {node.lineno for node in taken if names.search(name_of(node))}


def _trainings(loops: Loops) -> tuple[int, ...]:
    """Lines of training calls, where there are several or the loops around one are not just epochs and batches."""
    calls = [
        call
        for call in calls_of(loops.bindings, TRAINS)
        if not TRAINS_NOT.search(name_of(call)) and name_of(call) not in loops.bindings.functions
        if not (isinstance(call.func, ast.Attribute) and name_of(call) == "train") and not of_scheduler(call)
    ]
    ways = [(call, way) for call in calls for way in loops.around(call)]
    plain = _once(ways) and all(_is_one_training(loops, call, way) for call, way in ways)
    lines = set() if plain else {call.lineno for call in calls}
    return tuple(sorted(lines | _passed_on(loops.bindings, re.compile("^(step|fit)$"))))


def _once(ways: list[tuple[ast.Call, list[ast.AST]]]) -> bool:
    """Whether all is one call of a training, and perhaps its accountant's call beside it, in the same loops."""
    accounts = [way for call, way in ways if of_accountant(call)]
    others = [way for call, way in ways if not of_accountant(call)]
    return len(accounts) <= 1 and len(others) <= 1 and (not accounts or not others or accounts == others)


def _is_one_training(loops: Loops, call: ast.Call, way: list[ast.AST]) -> bool:
    """Whether the loops around a call are those of one training: batches in epochs, or counted steps."""
    counted = [loops.counts(loop) is not None and not REPEATS.search(variable(loop)) for loop in way]
    if way and not counted[0] and STEPS_TAKEN.search(name_of(call)):
        return not isinstance(way[0], ast.While) and goes_through_loader(way[0]) and all(counted[1:])
    return all(counted)


def _accumulation(bindings: Bindings) -> tuple[int, ...]:
    """Lines that name it, and steps that only some batches take."""
    lines = {line for name in bindings if ACCUMULATION.search(name) for line in bindings.lines(name)}
    gradients = [call.lineno for call in bindings.calls.get("backward", ())]
    lines |= set(gradients) if len(gradients) > 1 else set()
    for node in bindings.nodes:
        if isinstance(node, ast.expr) and not isinstance(node, ast.Call) and ACCUMULATION.search(name_of(node)):
            lines.add(node.lineno)
        elif isinstance(node, ast.Continue) or (isinstance(node, ast.Call) and name_of(node) in ("step", "zero_grad")):
            lines |= _conditions(bindings, node)
    return tuple(sorted(lines))


def _conditions(bindings: Bindings, node: ast.AST) -> set[int]:
    """Lines of conditions around a step, inside its loop."""
    lines: set[int] = set()
    if isinstance(node, ast.Call) and of_scheduler(node):
        return lines
    while (up := bindings.parents.get(node)) is not None and not isinstance(up, Loop):
        if isinstance(up, ast.If | ast.IfExp | ast.BoolOp):
            lines.add(up.lineno)
        node = up
    return lines if up is not None else set()

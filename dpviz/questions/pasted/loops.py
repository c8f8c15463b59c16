"""Loops of a program: those around a piece of it, also through functions, and how often each goes round."""

import ast
import math

from dpviz.questions.pasted.bindings import Bindings, Reading
from dpviz.questions.pasted.names import Function, name_of

Loop = ast.For | ast.AsyncFor | ast.While | ast.comprehension
ROUND_ABOUT = 3  # loops that stand for "unknown how often"
MOST_WAYS = 3  # to a piece of a program that are followed


class Loops:
    """The loops of a program that is parsed and never run.

    Attributes:
        bindings: its names and calls.
    """

    def __init__(self, bindings: Bindings) -> None:
        self.bindings = bindings

    def around(self, node: ast.AST, visited: tuple[str, ...] = ()) -> list[list[ast.AST]]:
        """For each way to `node` the loops around it, the innermost first; a few ways at most."""
        loops: list[ast.AST] = []
        below, up = node, self.bindings.parents.get(node)
        while up is not None:
            if isinstance(up, Loop) and below is not getattr(up, "iter", None):
                loops.append(up)
            elif isinstance(up, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
                loops += reversed(up.generators)
            elif isinstance(up, Function):
                return self._around_calls(up.name.lower(), loops, visited)
            below, up = up, self.bindings.parents.get(up)
        return [loops]

    def _around_calls(self, name: str, loops: list[ast.AST], visited: tuple[str, ...]) -> list[list[ast.AST]]:
        """The same for what stands within `loops` of the function `name`."""
        if name in visited or name in self.bindings.loose:
            return [loops + [*self.bindings.functions[name]] * ROUND_ABOUT]
        ways: list[list[ast.AST]] = []
        for call in self.bindings.calls.get(name, ()):
            if isinstance(call.func, ast.Attribute) and not self._is_method(name):
                continue  # a method of something else that has the same name
            ways += [loops + outer for outer in self.around(call, (*visited, name))]
            if len(ways) > MOST_WAYS:
                break
        return ways or [loops]

    def _is_method(self, name: str) -> bool:
        """Whether a function of this name is defined elsewhere than at the top of the program."""
        return any(not isinstance(self.bindings.parents.get(f), ast.Module) for f in self.bindings.functions[name])

    def counts(self, loop: ast.AST) -> list[tuple[Reading, Reading]] | None:
        """How often a loop over a range goes round, (the longest, the shortest) of each value; None for other loops."""
        if (counted := _range(iterated(loop))) is None:
            return None
        ends = [self.bindings.evaluate(end) for end in counted.args]
        if not 1 <= len(ends) <= 3 or any(len(end) != 1 for end in ends[:-1] if len(ends) == 3):
            return [(Reading(None, counted.lineno),) * 2]
        if len(ends) == 3:
            values = [end[0].value if len(end) == 1 else None for end in ends]
            return [_of_three(values, ends[1][0].line if ends[1] else counted.lineno)]
        starts, stops = ([Reading(0.0, counted.lineno)], ends[0]) if len(ends) == 1 else ends
        return [_resumed(start, stop) for start in starts for stop in stops] or [(Reading(None, counted.lineno),) * 2]

    def inside(self, loop: ast.AST) -> list[ast.AST]:
        """All that a loop repeats."""
        if isinstance(loop, ast.comprehension):
            whole = self.bindings.parents[loop]
            return [node for node in ast.walk(whole) if node is not whole and node is not loop]
        return [node for part in getattr(loop, "body", ()) for node in ast.walk(part)]

    def is_open(self, node: ast.AST) -> bool:
        """Whether it stands in a function that is not called here, so that nobody sees how often it runs."""
        while (up := self.bindings.parents.get(node)) is not None:
            if isinstance(up, Function):
                return not self.bindings.calls.get(up.name.lower()) or up.name.lower() in self.bindings.loose
            node = up
        return False

    def repeats(self, node: ast.AST) -> int | None:
        """How often a node runs; None where its loops, or the ways to it, are not counted ones."""
        ways = self.around(node)
        factors = [self.counts(loop) for loops in ways for loop in loops]
        if len(ways) != 1 or any(not each or len(each) != 1 or each[0][0] != each[0][1] for each in factors):
            return None
        numbers = [each[0][0].value for each in factors if each]
        whole = all(number is not None and number >= 1.0 and number == int(number) for number in numbers)
        return math.prod(int(number) for number in numbers if number) if whole else None


def iterated(loop: ast.AST) -> ast.expr:
    """What a loop goes through; a while loop's condition, and nothing for a function that stands for many calls."""
    return getattr(loop, "iter", None) or getattr(loop, "test", None) or ast.Constant(None)


def walked(node: ast.expr) -> ast.expr:
    """What a loop goes through, without the calls that count or show its progress."""
    while isinstance(node, ast.Call) and name_of(node) in ("enumerate", "tqdm") and node.args:
        node = node.args[0]
    return node


def goes_through_loader(loop: ast.AST) -> bool:
    """Whether a loop goes through something once, as through a data loader."""
    return isinstance(walked(iterated(loop)), ast.Name | ast.Attribute)


def variable(loop: ast.AST) -> str:
    """The name of the variable that counts."""
    target = getattr(loop, "target", loop)
    return name_of(target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target)


def line_of(loop: ast.AST) -> int:
    return loop.target.lineno if isinstance(loop, ast.comprehension) else getattr(loop, "lineno", 0)


def _range(node: ast.expr) -> ast.Call | None:
    """The `range` or `trange` that a loop goes through."""
    if not isinstance(node, ast.Call):
        return None
    if name_of(node) in ("tqdm", "enumerate", "reversed", "list", "zip") and node.args:  # zip ends with its first
        return _range(node.args[0])
    return node if name_of(node) in ("range", "trange") else None


def _resumed(start: Reading, stop: Reading) -> tuple[Reading, Reading]:
    """The longest and the shortest length of a range: one that starts above 1 goes on with an earlier run."""
    if start.value is None or stop.value is None:
        return (Reading(None, stop.line),) * 2
    rest = Reading(float(stop.value) - float(start.value), stop.line)
    return (Reading(float(stop.value), stop.line) if start.value > 1.0 else rest, rest)


def _of_three(values: list[float | bool | None], line: int) -> tuple[Reading, Reading]:
    """The length of a range with a step."""
    numbers = [int(value) for value in values if value is not None and value == int(value)]
    count = float(len(range(*numbers))) if len(numbers) == 3 and numbers[2] else None
    return (Reading(count, line),) * 2

"""All values that a piece of Python gives to names, with their lines; it is parsed and never run.

All that shares a name shares its values (`names`), so no value is lost: it may be one too many.
"""

import ast
import operator
from collections.abc import Callable
from typing import NamedTuple

from dpviz.questions.pasted.names import MOST_WORK, ProgramNames, name_of

MOST_VALUES = 40  # of one name
OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Pow: lambda base, power: float(base) ** power if base > 0.0 else 1.0 / 0,
}


class Reading(NamedTuple):
    """A value at a line; None where it could not be read."""

    value: float | bool | None
    line: int


class Bindings(ProgramNames):
    """The names of a program, and the values that each may have."""

    def readings(self, name: str, visited: tuple[str, ...] = ()) -> list[Reading]:
        """Every value that `name` is given; none where it is bound to nothing. What is made of itself is not read."""
        readings: list[Reading] = []
        for value, line in () if name in visited else self._bound.get(name, ()):
            if isinstance(value, ast.Name) and name_of(value) == name:
                continue
            readings += [Reading(None, line)] if value is None else self.evaluate(value, (*visited, name))
        distinct = {(type(reading.value), *reading): reading for reading in readings}
        return [Reading(None, readings[0].line)] if len(distinct) > MOST_VALUES else list(distinct.values())

    def evaluate(self, node: ast.expr, visited: tuple[str, ...] = ()) -> list[Reading]:
        """Every value that an expression may have; None is no value."""
        unread = [Reading(None, node.lineno)]
        self.work += 1
        if self.work > MOST_WORK:
            return unread
        match node:
            case ast.Constant():
                return _of_constant(node)
            case ast.IfExp() | ast.BoolOp() | ast.List(elts=[_]) | ast.Tuple(elts=[_]):
                return [reading for part in _alternatives(node) for reading in self.evaluate(part, visited)]
            case ast.UnaryOp(op=ast.USub()):
                readings = self.evaluate(node.operand, visited)
                return [Reading(None if value is None else -value, node.lineno) for value, _ in readings]
            case ast.BinOp() if type(node.op) in OPERATIONS:
                return self._of_operation(node, visited) or unread
            case ast.Call(func=ast.Name(id="float"), args=[argument], keywords=[]):
                return self.evaluate(argument, visited) or unread
            case ast.Call(func=ast.Name(id="int"), args=[argument], keywords=[]):
                readings = self.evaluate(argument, visited)
                return [Reading(None if v is None else float(int(v)), line) for v, line in readings] or unread
            case ast.Call():
                return unread
        return self._of_name(node, visited)

    def _of_name(self, node: ast.expr, visited: tuple[str, ...]) -> list[Reading]:
        """The values of a name; not those of an attribute or item that others may write."""
        name = name_of(node)
        elsewhere = isinstance(node, ast.Attribute | ast.Subscript) and not self._written(node, name)
        known = name in self._bound and not elsewhere
        return self.readings(name, visited) if known else [Reading(None, node.lineno)]

    def _of_operation(self, node: ast.BinOp, visited: tuple[str, ...]) -> list[Reading]:
        """The results for every pair of operands; the first ones where there are too many."""
        left, right = (self.evaluate(side, visited) for side in (node.left, node.right))
        self.work += len(left) * len(right)
        pairs = [(one.value, other.value) for one in left for other in right][: MOST_VALUES + 1]
        return [Reading(_result(node.op, *pair), node.lineno) for pair in pairs]

    def _written(self, node: ast.Attribute | ast.Subscript, name: str) -> bool:
        """Whether the program itself writes this attribute or item, or all of its owner."""
        return ast.unparse(node) in self._targets or self._is_local(node.value, name)


def _of_constant(node: ast.Constant) -> list[Reading]:
    """A number or a switch; a constant None is no value, and all others are not read."""
    value = node.value
    if value is None:
        return []
    if isinstance(value, bool):
        return [Reading(value, node.lineno)]
    usable = isinstance(value, int | float) and abs(value) < 1e300
    return [Reading(float(value) if usable else None, node.lineno)]  # type: ignore[arg-type]


def _alternatives(node: ast.IfExp | ast.BoolOp | ast.List | ast.Tuple) -> list[ast.expr]:
    """The expressions one of which an expression stands for."""
    match node:
        case ast.IfExp(body=one, orelse=other):
            return [one, other]
        case ast.BoolOp(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
            return parts


def _result(operation: ast.operator, left: float | None, right: float | None) -> float | None:
    """None where there is no number, or none that can be used."""
    if left is None or right is None:
        return None
    try:
        value = float(OPERATIONS[type(operation)](left, right))
    except (ZeroDivisionError, OverflowError):
        return None
    return value if abs(value) < 1e300 else None

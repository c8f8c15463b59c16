"""All values that a piece of Python gives to names, with their lines; it is parsed and never run.

Variables, attributes, items with a text as key, keywords, parameters and options of the command line that share a name
share their values. The order of the lines and the scope play no part, so no value is lost: it may be one too many.
"""

from __future__ import annotations

import ast
import operator
import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

MOST_VALUES = 40  # of one name
MOST_WORK = 20_000  # expressions evaluated
OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Pow: lambda base, power: float(base) ** power if base > 0.0 else 1.0 / 0,
}
# Calls that set names in a way that no reader of the text can follow.
OPAQUE = re.compile(
    r"^(exec|eval|globals|locals|vars|__import__|(importlib\.)?import_module|runpy\.\w+)$"
    r"|^(yaml|json|toml|tomllib|pickle)\.\w*load"
)
ORDERED = tomllib.loads(Path(__file__).with_name("snippet.toml").read_text("utf-8"))["ordered"]
KEYED = ("setattr", "setdefault", "get", "getattr", "pop", "set")  # a name as text, then its value
WRITTEN = ("dict", "namespace", "simplenamespace")  # calls whose keywords are all that their result holds
OPTIONS = ("add_argument", "option", "argument")  # of argparse and click
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Reading:
    """A value at a line; None where it could not be read."""

    value: float | bool | None
    line: int


def name_of(node: ast.AST) -> str:
    """The last part of a variable, an attribute, a call's function or an item with a text as key, in lower case."""
    if isinstance(node, ast.Call):
        return name_of(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr.lower()
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return node.slice.value.lower()
    return node.id.lower() if isinstance(node, ast.Name) else ""


class Bindings:
    """The names of a program and the expressions that they are bound to.

    Attributes:
        parents: node → the node around it.
        calls: name of a function → its calls.
        functions: the functions defined here, by name.
        loose: functions that are passed on without being called here.
        opaque: lines that may set any name.
    """

    def __init__(self, tree: ast.AST) -> None:
        self._bound: dict[str, list[tuple[ast.expr | None, int]]] = defaultdict(list)
        self.parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self.calls: dict[str, list[ast.Call]] = defaultdict(list)
        self.functions: dict[str, list[Function]] = defaultdict(list)
        self.opaque: set[int] = set()
        self._work = 0
        self._targets: set[str] = set()
        self._options: set[str] = set()
        self.nodes = list(ast.walk(tree))
        self._classes: dict[str, list[ast.ClassDef]] = defaultdict(list)
        for node in self.nodes:
            if isinstance(node, ast.Call):
                self.calls[name_of(node)].append(node)
            elif isinstance(node, ast.ClassDef):
                self._classes[node.name.lower()].append(node)
            elif isinstance(node, Function):
                self.functions[node.name.lower()].append(node)
        self.loose = {
            name_of(node)
            for node in self.nodes
            if isinstance(node, ast.Name | ast.Attribute)
            and isinstance(node.ctx, ast.Load)
            and name_of(node) in self.functions
            and not (isinstance(call := self.parents[node], ast.Call) and call.func is node)
        }
        for node in self.nodes:
            self._collect(node)

    def __iter__(self) -> Iterator[str]:
        return iter(self._bound)

    def _add(self, name: str, value: ast.expr | None, line: int) -> None:
        self._bound[name.lower()].append((value, line))

    def _collect(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
            if node.value is not None:
                self._bind(node.target, node.value)
        elif isinstance(node, ast.AugAssign):
            changed = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
            self.parents[changed] = node
            self._bind(node.target, changed)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            elements = node.iter.elts if isinstance(node.iter, ast.List | ast.Tuple | ast.Set) else [None]
            for element in elements:
                self._bind(node.target, element)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._bind(node.optional_vars, None)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                self._add(alias.asname or alias.name.split(".")[-1], None, node.lineno)
            if node.names[0].name == "*":
                self.opaque.add(node.lineno)
        elif isinstance(node, ast.MatchAs | ast.MatchStar | ast.MatchMapping):
            self.opaque.add(node.lineno)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                self._item(key, value)
        elif isinstance(node, Function | ast.Lambda):
            self._defaults(node)
        elif isinstance(node, ast.Call):
            self._call(node)

    def _bind(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            elements = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            pairs = len(elements) == len(target.elts) and not any(isinstance(e, ast.Starred) for e in target.elts)
            for position, each in enumerate(target.elts):
                self._bind(each, elements[position] if pairs else None)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, None)
        elif name := name_of(target):
            self._add(name, value, target.lineno)
            self._targets.add(ast.unparse(target))
        elif isinstance(target, ast.Subscript) and self._is_dictionary(target.value):
            self.opaque.add(target.lineno)

    def _is_dictionary(self, node: ast.expr) -> bool:
        """Whether its items are written in this program."""
        if isinstance(node, ast.Dict) or (isinstance(node, ast.Call) and name_of(node) == "dict"):
            return True
        values = [value for value, _ in self._bound.get(name_of(node), ())]
        written = ast.Dict | ast.Call
        return bool(values) and all(isinstance(v, written) and name_of(v) in ("", "dict") for v in values)

    def _item(self, key: ast.expr | None, value: ast.expr) -> None:
        if key is None:
            if not self._is_dictionary(value):
                self.opaque.add(value.lineno)
        elif isinstance(key, ast.Constant) and isinstance(key.value, str):
            self._add(key.value, value, value.lineno)

    def _defaults(self, node: Function | ast.Lambda) -> None:
        named, arguments = getattr(node, "name", "").lower(), node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults, *arguments.kw_defaults]
        uncalled = named in self.loose or not self.calls.get(named)
        for argument, default in zip([*positional, *arguments.kwonlyargs], defaults, strict=True):
            decorated = any(
                isinstance(d, ast.Call) and name_of(d) in OPTIONS for d in getattr(node, "decorator_list", ())
            )
            if default is not None:
                self._add(argument.arg, default, default.lineno)
            if named in self.loose or (default is None and uncalled and not decorated):
                self._add(argument.arg, None, argument.lineno)

    def _call(self, call: ast.Call) -> None:
        name = name_of(call)
        texts = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        if OPAQUE.search(ast.unparse(call.func)) or (name == "setattr" and not texts):
            self.opaque.add(call.lineno)
        if name in OPTIONS:
            default = next((word.value for word in call.keywords if word.arg == "default"), None)
            for option in (text.lstrip("-").replace("-", "_").lower() for text in texts):
                self._options.add(option)
                self._add(option, default, call.lineno)
        for first, second in zip(call.args, call.args[1:], strict=False):
            if isinstance(first, ast.Constant) and isinstance(first.value, str) and name in KEYED:
                self._add(first.value, second, second.lineno)
        for word in call.keywords:
            if word.arg is not None:
                self._add(word.arg, word.value, word.value.lineno)
            else:
                self._item(None, word.value)
        self._positional(call, name)

    def _positional(self, call: ast.Call, name: str) -> None:
        """Arguments without names, for the parameters of functions that are defined here or well known."""
        signatures = [ORDERED.get(name, ()), *self._signatures(name)]
        starred = any(isinstance(argument, ast.Starred) for argument in call.args)
        for position, parameter in (pair for names in signatures for pair in enumerate(names)):
            if starred:
                self._add(parameter, None, call.lineno)
            elif position < len(call.args):
                self._add(parameter, call.args[position], call.args[position].lineno)

    def _signatures(self, name: str) -> Iterator[tuple[str, ...]]:
        """The parameters of each function of that name, and of each class: of its __init__, or its annotated fields."""
        for function in self.functions.get(name, ()):
            names = tuple(argument.arg for argument in (*function.args.posonlyargs, *function.args.args))
            yield names[1:] if names[:1] in (("self",), ("cls",)) else names
        for node in self._classes.get(name, ()):
            yield from self._signatures("__init__")
            yield tuple(name_of(field.target) for field in node.body if isinstance(field, ast.AnnAssign))

    def lines(self, name: str) -> list[int]:
        """The lines that bind `name`."""
        return [line for _, line in self._bound.get(name, ())]

    def readings(self, name: str) -> list[Reading]:
        """Every value that `name` is given; none where it is bound to nothing."""
        return self._named(name.lower(), {}, ())

    def _named(self, name: str, now: dict[str, list[Reading]], visited: tuple[str, ...]) -> list[Reading]:
        if name in now:
            return now[name]
        if name in visited:
            return []
        readings: list[Reading] = []
        later: list[tuple[ast.expr, int]] = []
        for value, line in self._bound.get(name, ()):
            if value is None:
                readings.append(Reading(None, line))
            elif isinstance(value, ast.Name | ast.Attribute | ast.Subscript) and name_of(value) == name:
                if not isinstance(value, ast.Name) and not self._written(value, name):
                    readings.append(Reading(None, line))
            elif any(name_of(part) == name for part in ast.walk(value) if not isinstance(part, ast.Call)):
                later.append((value, line))
            else:
                readings += self.evaluate(value, now, (*visited, name))
        for value, line in sorted(later, key=lambda one: one[1]):
            if self._repeated(value):
                readings.append(Reading(None, line))
            else:
                readings += self.evaluate(value, {**now, name: list(readings)}, (*visited, name))
        distinct = {(type(reading.value), reading.value, reading.line): reading for reading in readings}
        if len(distinct) > MOST_VALUES:
            return [Reading(None, readings[0].line)]
        return list(distinct.values())

    def _repeated(self, node: ast.AST) -> bool:
        """Whether it may happen more than once: in a loop or a function."""
        up = self.parents.get(node)
        while up is not None:
            if isinstance(up, ast.For | ast.AsyncFor | ast.While | ast.comprehension | Function | ast.Lambda):
                return True
            up = self.parents.get(up)
        return False

    def evaluate(
        self, node: ast.expr, now: dict[str, list[Reading]] | None = None, visited: tuple[str, ...] = ()
    ) -> list[Reading]:
        """Every value that an expression may have; None is no value."""
        now, unread = now or {}, [Reading(None, node.lineno)]
        self._work += 1
        if self._work > MOST_WORK:
            return unread
        if isinstance(node, ast.Constant):
            if node.value is None:
                return []
            if isinstance(node.value, bool):
                return [Reading(node.value, node.lineno)]
            usable = isinstance(node.value, int | float) and abs(node.value) < 1e300
            return [Reading(float(node.value), node.lineno)] if usable else unread  # type: ignore[arg-type]
        if isinstance(node, ast.IfExp | ast.BoolOp):
            parts = node.values if isinstance(node, ast.BoolOp) else [node.body, node.orelse]
            return [reading for part in parts for reading in self.evaluate(part, now, visited)]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return [
                Reading(None if reading.value is None else -reading.value, node.lineno)
                for reading in self.evaluate(node.operand, now, visited)
            ]
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
            left, right = (self.evaluate(side, now, visited) for side in (node.left, node.right))
            self._work += len(left) * len(right)
            return [self._combined(node, one, two) for one in left for two in right][: MOST_VALUES + 1] or unread
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1 and not node.keywords:
            numbers = self.evaluate(node.args[0], now, visited) if node.func.id in ("int", "float") else unread
            whole = node.func.id == "int"
            return [Reading(float(int(r.value)) if whole and r.value is not None else r.value, r.line) for r in numbers]
        name = "" if isinstance(node, ast.Call) else name_of(node)
        elsewhere = isinstance(node, ast.Attribute | ast.Subscript) and not self._written(node, name)
        return self._named(name, now, visited) if name in self._bound and not elsewhere else unread

    def _written(self, node: ast.Attribute | ast.Subscript, name: str) -> bool:
        """Whether the program itself writes this attribute or item, or all of its owner."""
        return ast.unparse(node) in self._targets or self._is_local(node.value, name)

    def _is_local(self, owner: ast.expr, name: str, visited: tuple[str, ...] = ()) -> bool:
        if isinstance(owner, ast.Dict):
            return True
        named = name_of(owner)
        if isinstance(owner, ast.Call):
            return named in self._classes or named in WRITTEN or (named == "parse_args" and name in self._options)
        if named in ("self", "cls") or named in self._classes:
            return True
        values = [value for value, _ in self._bound.get(named, ()) if named not in visited]
        return bool(values) and all(v is not None and self._is_local(v, name, (*visited, named)) for v in values)

    @staticmethod
    def _combined(node: ast.BinOp, left: Reading, right: Reading) -> Reading:
        value: float | None = None
        if left.value is not None and right.value is not None:
            try:
                value = float(OPERATIONS[type(node.op)](left.value, right.value))
            except (ZeroDivisionError, OverflowError):
                value = None
        return Reading(value if value is not None and abs(value) < 1e300 else None, node.lineno)

"""The names of a piece of Python and the expressions that they are bound to; it is parsed and never run.

Variables, attributes, items with a text as key, keywords, parameters and options of the command line that share a name
are one name here. The order of the lines and the scope play no part.
"""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

MOST_WORK = 20_000  # expressions evaluated
# Calls that set names in a way that no reader of the text can follow.
OPAQUE = re.compile(
    r"^(exec|eval|globals|locals|vars|__import__|(importlib\.)?import_module|runpy\.\w+)$"
    r"|^(yaml|json|toml|tomllib|pickle)\.\w*load"
)
TABLES = tomllib.loads(Path(__file__).with_name("reader.toml").read_text("utf-8"))
ORDERED, IGNORED = TABLES["ordered"], TABLES["ignored"]
KEYED = ("setattr", "setdefault", "get", "getattr", "pop", "set")  # a name as text, then its value
WRITTEN = ("dict", "namespace", "simplenamespace")  # calls whose keywords are all that their result holds
OPTIONS = ("add_argument", "option", "argument")  # of argparse and click
FLAG = re.compile(r"^define_(float|integer|string|bool|boolean|enum)$")  # of absl: a name, then its default
Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(node: ast.AST) -> str:
    """A function's or class's, or the last part of a variable, attribute, item or what is called; in lower case."""
    match node:
        case ast.Call():
            return name_of(node.func)
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str() as name)):
            return name.lower()
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name.lower()
    return ""


class ProgramNames:
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
        self.nodes = list(ast.walk(tree))
        self.parents = {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}
        self.calls: dict[str, list[ast.Call]] = defaultdict(list)
        self.functions: dict[str, list[Function]] = defaultdict(list)
        self._classes: dict[str, list[ast.ClassDef]] = defaultdict(list)
        self.opaque: set[int] = set()
        self.work = 0
        self._targets: set[str] = set()
        self._options: set[str] = set()
        for node in self.nodes:
            if isinstance(node, ast.Call):
                self.calls[name_of(node)].append(node)
            elif isinstance(node, ast.ClassDef):
                self._classes[name_of(node)].append(node)
            elif isinstance(node, Function):
                self.functions[name_of(node)].append(node)
        self.loose = {name_of(node) for node in self.passed_on() if name_of(node) in self.functions}
        for node in self.nodes:
            self._collect(node)

    def passed_on(self) -> Iterator[ast.Name | ast.Attribute]:
        """What is read and not called there."""
        for node in self.nodes:
            loaded = isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)
            if loaded and not (isinstance(call := self.parents[node], ast.Call) and call.func is node):
                yield node  # type: ignore[misc]

    def __iter__(self) -> Iterator[str]:
        return iter(self._bound)

    def _add(self, name: str, value: ast.expr | None, line: int) -> None:
        self._bound[name.lower()].append((value, line))

    def _collect(self, node: ast.AST) -> None:
        match node:
            case ast.Assign():
                for target in node.targets:
                    self._bind(target, node.value)
            case ast.AnnAssign(value=ast.expr() as value) | ast.NamedExpr(value=value):
                self._bind(node.target, value)
            case ast.AugAssign():
                changed = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
                self.parents[changed] = node
                self._bind(node.target, changed)
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                for element in node.iter.elts if isinstance(node.iter, ast.List | ast.Tuple | ast.Set) else [None]:
                    self._bind(node.target, element)
            case ast.withitem(optional_vars=ast.expr() as target):
                self._bind(target, None)
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    self._add(alias.asname or alias.name.split(".")[-1], None, node.lineno)
                if node.names[0].name == "*":
                    self.opaque.add(node.lineno)
            case ast.MatchAs() | ast.MatchStar() | ast.MatchMapping():
                self.opaque.add(node.lineno)
            case ast.Dict():
                for key, value in zip(node.keys, node.values, strict=True):
                    self._item(key, value)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                self._defaults(node)
            case ast.Call():
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
        elif isinstance(target, ast.Subscript) and self._is_local(target.value):
            self.opaque.add(target.lineno)

    def _item(self, key: ast.expr | None, value: ast.expr) -> None:
        if key is None:
            if not self._is_local(value):
                self.opaque.add(value.lineno)
        elif (text := _text(key)) is not None:
            self._add(text, value, value.lineno)

    def _defaults(self, node: Function | ast.Lambda) -> None:
        named, arguments = name_of(node), node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults, *arguments.kw_defaults]
        decorators = getattr(node, "decorator_list", ())
        decorated = any(isinstance(one, ast.Call) and name_of(one) in OPTIONS for one in decorators)
        free = not decorated and (named in self.loose or not self.calls.get(named))
        for argument, default in zip([*positional, *arguments.kwonlyargs], defaults, strict=True):
            if default is not None:
                self._add(argument.arg, default, default.lineno)
            if named in self.loose or (default is None and free):
                self._add(argument.arg, None, argument.lineno)

    def _call(self, call: ast.Call) -> None:
        name = name_of(call)
        texts = [_text(argument) for argument in call.args]
        if OPAQUE.search(ast.unparse(call.func)) or (name == "setattr" and not any(texts)):
            self.opaque.add(call.lineno)
        default = next((word.value for word in call.keywords if word.arg == "default"), None)
        if name in OPTIONS:
            for option in (text.lstrip("-").replace("-", "_") for text in texts if text is not None):
                self._option(option, default, call.lineno)
        if FLAG.search(name) and texts and texts[0] is not None:
            self._option(texts[0], call.args[1] if len(call.args) > 1 else default, call.lineno)
        if name in KEYED:
            for key, value in pairwise(call.args):
                self._item(key, value)
        self._keywords(call, name)
        self._positional(call, name)

    def _option(self, name: str, default: ast.expr | None, line: int) -> None:
        """An option of the command line: its name, and the value that it has unless another one is given."""
        self._options.add(name.lower())
        self._add(name, default, line)

    def _keywords(self, call: ast.Call, name: str) -> None:
        """Arguments with names."""
        for word in call.keywords:
            if word.arg is None:
                self._item(None, word.value)
            elif word.arg not in IGNORED.get(name, ()):
                self._add(word.arg, word.value, word.value.lineno)

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

    def expressions(self, name: str) -> list[ast.expr | None]:
        """What a name is bound to; None where that is no expression."""
        return [value for value, _ in self._bound.get(name, ())]

    def bound(self, name: str) -> list[tuple[ast.expr | None, int]]:
        """What `name` is bound to, with the lines; None stands for what no text shows."""
        return list(self._bound.get(name, ()))

    def lines(self, name: str) -> list[int]:
        """The lines that bind `name`."""
        return [line for _, line in self._bound.get(name, ())]

    def _is_local(self, owner: ast.expr, name: str = "", visited: tuple[str, ...] = ()) -> bool:
        """Whether all that an object holds under this name, or all in all, is written in this program."""
        named = name_of(owner)
        self.work += 1
        if self.work > MOST_WORK:
            return False
        if named == "flags":
            return name in self._options
        if named in ("self", "cls") or named in self._classes:
            return bool(name)
        if isinstance(owner, ast.Dict | ast.Call):
            options = named == "parse_args" and name in self._options
            return isinstance(owner, ast.Dict) or named in WRITTEN or options
        values = [value for value, _ in self._bound.get(named, ()) if named not in visited]
        return bool(values) and all(v is not None and self._is_local(v, name, (*visited, named)) for v in values)


def _text(node: ast.expr) -> str | None:
    """What a text in the program says; None where an expression is no text."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None

"""A pasted text as a tree of Python, and whether it is a program: parsed, never run.

A program stays as it is. What an accountant, a configuration, a command or a log prints becomes assignments, each on
its line.
"""

import ast
import json
import re
from collections.abc import Iterator
from contextlib import suppress

from dpviz.questions.pasted.names import name_of
from dpviz.questions.pasted.quantities import (
    COUNTED,
    MICROBATCHES,
    NAMES,
    PHYSICAL,
    UNTRANSLATED,
    WORDS,
)
from dpviz.questions.pasted.statements import settings_of
from dpviz.questions.pasted.vocabulary import SWITCH_WORDS, is_key

LONGEST = 20_000  # characters
ALIASES = {"T": "steps", "C": "max_grad_norm", "ε": "epsilon"}
ASK = WORDS["ask"]
# Numbers with a type around them, as arrays print them; the list of a history; a name and a number in a line of a log.
TYPED = re.compile(
    r"\b(?:(?:np|numpy|jnp)\.(?:float|u?int|array|asarray)\w*|(?:torch\.)?tensor)"
    r"\(\s*([-+.\w]+)\s*(?:, \w+=[\w.:']+)*\)"
)
ARRAY = re.compile(
    r"\b(?:(?:torch|np|numpy|jnp)\.)?(?:tensor|array|Array|Parameter|DeviceArray)\((?=\s*(?:\[|tensor\())"
)
HISTORY = re.compile(r"\[\s*(?:[\[(][^\[\]()]*[\])][\s,]*)+\]")
WORD = r"[^\W\d][\w.-]*"
PAIR = re.compile(
    rf"(?<![\w.-])((?:{WORD} ){{0,2}}{WORD})['\"]? ?[=: ] ?([-+]?\.?\d[\w.,+-]*|[Tt]rue|[Ff]alse)"
    r"( ?[/%*^×±+]|\(|(?<!,) \d| (?:x|of) \d)?"  # what follows, where the value is then not all that is meant
)
# A key and a word after it; an option of a command, with its word.
WORD_PAIR = re.compile(
    r"(?<![\w.-])([A-Za-z][\w-]*(?: [A-Za-z][\w-]*)?)['\"]? ?[=:] ?['\"]?"
    r"([A-Za-z][\w.-]*(?: [A-Za-z][\w-]*\b(?! ?[=:]))*|~)"
)
FLAG = re.compile(r"(?<!\S)--?([A-Za-z][\w-]*)(?:[ =]['\"]?([A-Za-z][\w-]*|[-+.\d]\S*))?")
EXPONENT = "e"
OPTION = re.compile(r"^-+(?=[^\W\d])")  # what a command writes before a name
NUMBER = re.compile(r"[-+]?(?=\.?\d)\d*(\.\d*)?([eE][-+]?\d+)?")
# Counts may have commas between thousands, for which other quantities have their decimal sign; with points, who knows.
COUNT = re.compile(r"[1-9]\d{0,2}(,\d{3})+")
UNCLEAR = re.compile(r"[1-9]\d{0,2}(\.\d{3})+")
CODE = re.compile(r"(?m)^[ \t]*(?:(?:async |for|while|def|class|with|if)\b.*:(?:\s|$)|import |from .* import )")
# Names that a log's pairs may have: those that are read, and those that say why a plan is not.
PATTERNS = (
    *NAMES.values(), *UNTRANSLATED, PHYSICAL, MICROBATCHES,
    re.compile(r"poisson_sampling|shuffle|drop_last|\w*accum\w*"),
)  # fmt: skip
UNREAD = "unread"  # what stands for a value that is no plain number


def parsed(text: str) -> tuple[ast.Module, bool]:
    """The text's tree, and whether it is a program: more than values.

    Raises:
        ValueError: it is too long, or neither Python nor pairs of name and number.
    """
    tree = _tree(_without_arrays(TYPED.sub(r"\1", _python(text))))
    nodes = list(ast.walk(tree))
    called = {name_of(node) for node in nodes if isinstance(node, ast.Call)}
    values = {name for name in called if name.endswith("dpevent")} | {"ordereddict", "dict", UNREAD}
    assigned = all(isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr) for statement in tree.body)
    program = not (assigned and called <= values)
    return tree if program else _Constants().visit(tree), program


class _Constants(ast.NodeTransformer):
    """Names of settings as a program writes them: T is steps, and true, false and null are constants."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        constants = {"true": True, "false": False, "null": None, "none": None}
        if isinstance(node.ctx, ast.Load) and node.id in constants:
            return ast.copy_location(ast.Constant(constants[node.id]), node)
        return ast.copy_location(ast.Name(ALIASES.get(node.id, node.id), node.ctx), node)


def _without_arrays(text: str) -> str:
    """The text of a checkpoint without the numbers of its tensors, whose rows are no history; lines stay."""
    while match := ARRAY.search(text):
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        text = f"{text[: match.start()]}{UNREAD}({' ' + chr(10) * text.count(chr(10), match.start(), end)}){text[end:]}"
    return text


def _python(text: str) -> str:
    """The text without a notebook's own lines; ValueError where it is too long."""
    if len(text) > LONGEST:
        raise ValueError(
            f"This text has {len(text):,} characters; paste at most {LONGEST:,}: the part that sets up the training."
        )
    return "\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in text.splitlines())


def _tree(text: str) -> ast.Module:
    with suppress(ValueError):
        return ast.parse(repr(json.loads(text)))
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        if CODE.search(text):
            where = f" in line {problem.lineno}" if isinstance(problem, SyntaxError) else ""
            raise ValueError(ASK["python"].format(where=where)) from None
        return _pairs(text)
    lines_of_yaml = (n for n in tree.body if isinstance(n, ast.AnnAssign) and isinstance(n.annotation, ast.Constant))
    return _pairs(text) if any(lines_of_yaml) else tree


def _pairs(text: str) -> ast.Module:
    """A log's or a command's pairs of name and value as assignments, each on its line; a history as one more."""
    lines: list[list[str]] = [[] for _ in range(text.count("\n") + 1)]
    text, settings = settings_of(text)
    for setting in settings:
        lines[setting.line - 1].append(f"{setting.name} = {setting.value}")
    for match in HISTORY.finditer(text):
        lines[text.count("\n", 0, match.start())].append("history = " + " ".join(match[0].split()))
    rest = HISTORY.sub(lambda match: "\n" * match[0].count("\n"), text)
    for place, line in zip(lines, rest.split("\n"), strict=True):
        place += [f"{name} = {number}" for name, number in _numbers_of(line)]
        place += [f"{name} = {value!r}" for name, value in _words_of(line)]
    try:
        return ast.parse("\n".join("; ".join(place) for place in lines))
    except (SyntaxError, ValueError):
        raise ValueError(ASK["nothing"]) from None


def _numbers_of(line: str) -> Iterator[tuple[str, str]]:
    """Known names in a line, with their numbers or switches as Python writes them."""
    for words, value, after in PAIR.findall(" ".join(OPTION.sub("", word) for word in line.split())):
        if name := _name(re.split(r"[ .-]+", words.strip("-."))[-6:]):
            yield name, _number(name.lower(), value.rstrip(",."), after)


def _number(name: str, value: str, after: str) -> str:
    """A number or switch as Python writes it; a call of `UNREAD` where what follows it, or its marks, leave it open."""
    if value.lower() in ("true", "false"):
        return value.capitalize()
    if after.strip() == "%" and NAMES["rate"].fullmatch(name) and NUMBER.fullmatch(value):
        return repr(float(f"{value}e-2")) if EXPONENT not in value.lower() else f"{UNREAD}()"
    counts = any(NAMES[key].fullmatch(name) for key in COUNTED)
    digits = value.replace(",", "") if counts and COUNT.fullmatch(value) else value
    plain = NUMBER.fullmatch(digits) and not after and not (counts and UNCLEAR.fullmatch(value))
    return repr(float(digits)) if plain else f"{UNREAD}()"


def _words_of(line: str) -> Iterator[tuple[str, str | bool | None]]:
    """Keys of batches, neighbours and units in a line, with their words or switches."""
    for flag, value in FLAG.findall(line):
        name = flag.replace("-", "_").lower()
        off = name.startswith("no_") and is_key(name[3:])
        if off or (is_key(name) and not value):
            yield (name[3:], False) if off else (name, True)
        elif is_key(name):
            yield name, SWITCH_WORDS.get(value.lower(), value)
    for key, value in WORD_PAIR.findall(FLAG.sub("", line)):
        name = re.sub(r"[ -]+", "_", key).lower()
        if is_key(name) and not NUMBER.fullmatch(value):
            yield (
                name,
                None if value.lower() in ("null", "~", "none") else SWITCH_WORDS.get(value.lower(), value.strip()),
            )


def _name(words: list[str]) -> str:
    """The longest name at the end of these words that is known; empty where none is."""
    for first in range(len(words)):
        name = "_".join(words[first:])
        if name in ALIASES or any(one.fullmatch(name.lower()) for one in PATTERNS):
            return ALIASES.get(name, name)
    return ""

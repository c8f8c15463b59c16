"""Names mean one thing."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "dpviz"
FILES = sorted(PACKAGE.rglob("*.py"))

# Participles that name nothing: what is it that was found, said, told? In how many files each stands; may only shrink.
# `Trial.found` is a key of stored records.
MOST_FILES = {"found": 7, "said": 0, "told": 0, "drawn": 28, "known": 30, "left_out": 8}


@cache
def parsed(file: Path) -> ast.Module:
    """A file's syntax tree; kept, as most tests here look at all files."""
    return ast.parse(file.read_text(encoding="utf-8"))


def test_no_class_name_occurs_twice() -> None:
    where = defaultdict(list)
    for file in FILES:
        for node in ast.walk(parsed(file)):
            if isinstance(node, ast.ClassDef):
                where[node.name].append(str(file.relative_to(PACKAGE)))
    assert len(where) > 200
    assert {name: files for name, files in where.items() if len(files) > 1} == {}


def identifiers(tree: ast.Module) -> set[str]:
    """Names of variables, arguments, keywords, attributes, functions and classes."""
    names: set[str | None] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=name):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.alias(name=name, asname=other):
                names.add(other or name)
    return {name for name in names if name}


def test_names_are_nouns() -> None:
    names = [identifiers(parsed(file)) for file in FILES]
    files = {word: sum(word in of_file for of_file in names) for word in MOST_FILES}
    assert {word: count for word, count in files.items() if count > MOST_FILES[word]} == {}


def known_names() -> set[str]:
    """What a name in backticks may be: an identifier, a word of a table, a text, a file, a setting of a peer."""
    names = {part for file in FILES for part in (file.stem, *file.relative_to(PACKAGE.parent).parts)}
    for file in FILES:
        tree = parsed(file)
        names |= identifiers(tree)
        names |= {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
    for table in PACKAGE.rglob("*.toml"):
        names |= set(re.findall(r"\w+", table.read_text(encoding="utf-8")))
    return names | {"server", "allowedHosts", "corsAllowedOrigins", "distributed", "comm", "tls"}


def docstrings(tree: ast.Module) -> list[str]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [text for node in ast.walk(tree) if isinstance(node, kinds) and (text := ast.get_docstring(node))]


def test_every_name_in_backticks_in_a_docstring_exists() -> None:
    known = known_names()
    dead = {
        (str(file.relative_to(PACKAGE)), name)
        for file in FILES
        for text in docstrings(parsed(file))
        for name in re.findall(r"`([A-Za-z_][\w.]*)`", text)
        if not set(name.removesuffix(".py").removesuffix(".toml").split(".")) <= known
    }
    assert dead == set()


def test_every_file_that_the_docs_name_exists() -> None:
    root = PACKAGE.parent
    for page in [root / "README.md", *(root / "docs").rglob("*.md")]:
        prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        paths = re.findall(r"`((?:dpviz|tests|tools|docs|benchmarks|pages|examples)/[\w./-]*)`", prose)
        missing = {path for path in paths if not (root / path).exists() and "NAME" not in path}
        assert missing == set(), page.name


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_a_module_has_one_title(file: Path) -> None:
    """A second text in the middle is a second idea: it has a file of its own."""
    module = parsed(file)
    texts = [n for n in module.body[1:] if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)]
    assert not [text.lineno for text in texts]


def test_a_table_computes_nothing() -> None:
    """A sentence of a table names what is filled in: `{name}`, not an attribute, an element or a condition of it."""
    evaluated = {
        (str(table.relative_to(PACKAGE)), place)
        for table in PACKAGE.rglob("*.toml")
        for place in re.findall(r"\{[a-z_]\w*[.\[][^}]*\}|\{\{.*|\{%.*", table.read_text(encoding="utf-8"))
    }
    assert evaluated == set()

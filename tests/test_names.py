"""Names mean one thing."""

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "dpviz"

# Participles that name nothing: what is it that was found, said, told? In how many files each stands; may only shrink.
# `Trial.found` is a key of stored records.
MOST_FILES = {"found": 7, "said": 0, "told": 0, "drawn": 28, "known": 30, "left_out": 8}


def test_no_class_name_occurs_twice() -> None:
    where = defaultdict(list)
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
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
    names = [identifiers(ast.parse(file.read_text(encoding="utf-8"))) for file in PACKAGE.rglob("*.py")]
    files = {word: sum(word in of_file for of_file in names) for word in MOST_FILES}
    assert {word: count for word, count in files.items() if count > MOST_FILES[word]} == {}

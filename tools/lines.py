"""Lines by package, with tables: ``python tools/lines.py``. Docstrings, comments and blank lines do not count."""

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEXTS = {".js", ".css", ".html", ".toml", ".sql", ".md", ".txt", ".yaml"}


def python_lines(source: str) -> int:
    """Lines of Python that are neither docstring nor comment nor blank."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                documented.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines = enumerate(source.splitlines(), 1)
    return sum(bool(line.strip()) and not line.strip().startswith("#") for n, line in lines if n not in documented)


def text_lines(source: str) -> int:
    """Lines of scripts, styles, pages and tables that are neither comment nor blank."""
    lines = re.sub(r"/\*.*?\*/", "", source, flags=re.S).splitlines()
    return sum(bool(line.strip()) and not line.strip().startswith(("//", "#")) for line in lines)


def count(root: Path = ROOT) -> Counter[str]:
    """Lines by package: "dpviz/accounting", …, "dpviz" for its own files, "tests"."""
    totals: Counter[str] = Counter()
    for top in ("dpviz", "tests"):
        for path in sorted((root / top).rglob("*")):
            counter = python_lines if path.suffix == ".py" else text_lines if path.suffix in TEXTS else None
            if counter is None or ".min." in path.name:
                continue
            inside = path.relative_to(root / top).parts
            package = f"{top}/{inside[0]}" if top == "dpviz" and len(inside) > 1 else top
            totals[package] += counter(path.read_text(encoding="utf-8", errors="replace"))
    return totals


if __name__ == "__main__":
    totals = count()
    for package, lines in sorted(totals.items()):
        print(f"{package:20} {lines:7,}")
    print(f"{'dpviz, all':20} {sum(totals.values()) - totals['tests']:7,}")

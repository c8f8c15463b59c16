"""Draw docs/work/architecture.svg from the import contracts in pyproject.toml: ``python tools/picture.py [FILE]``."""

import ast
import sys
import textwrap
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "work" / "architecture.svg"

# Pixels: the picture, between two layers, around all, beside text, its lines, a letter of it at most.
WIDTH, GAP, MARGIN, INSET, LINE, LETTER = 760, 20, 12, 14, 18, 7

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #6b6963 }
  .name { font-weight: 650; fill: #1f69c4 }
  rect { fill: #f5f4f1; stroke: #e2e0da }
  path { stroke: #8a877f; fill: none; marker-end: url(#end) }
  #end path { fill: #8a877f; stroke: none; marker-end: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #a9a69e } .name { fill: #7fb2f0 } rect { fill: #23211e; stroke: #3a3733 }
  }
"""


def layers() -> list[list[str]]:
    """Names of packages and modules, from the top, those of one layer together; the app's own files above all."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [found] = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    return [[name.strip(" ()").removeprefix("dpviz.") for name in layer.split("|")] for layer in found]


def purpose(name: str) -> str:
    """What its docstring says first, up to a semicolon or the end of the line."""
    folder, file = ROOT / "dpviz" / name / "__init__.py", ROOT / "dpviz" / f"{name}.py"
    told = ast.get_docstring(ast.parse((folder if folder.exists() else file).read_text())) or ""
    first = told.splitlines()[0].partition(";")[0].removeprefix(f"{name.title()}: ").rstrip(".:")
    return first[:1].upper() + first[1:]


def picture() -> str:
    """The layers as an SVG drawing, an arrow from each to the one below."""
    shown, parts, top = layers(), [], MARGIN
    for at, names in enumerate(shown):
        wide = (WIDTH - 2 * MARGIN - GAP * (len(names) - 1)) / len(names)
        texts = [[name, *textwrap.wrap(purpose(name), int((wide - 2 * INSET) / LETTER))] for name in names]
        tall = 12 + LINE * max(map(len, texts))
        for place, text in enumerate(texts):
            left = MARGIN + place * (wide + GAP)
            parts.append(f'<rect x="{left:g}" y="{top}" width="{wide:g}" height="{tall}" rx="8"/>')
            for line, words in enumerate(text):
                kind = ' class="name"' if line == 0 else ""
                parts.append(f'<text{kind} x="{left + INSET:g}" y="{top + LINE * (line + 1)}">{escape(words)}</text>')
        top += tall + GAP
        if at + 1 < len(shown):
            parts.append(f'<path d="M {WIDTH / 2:g} {top - GAP} v {GAP - 6}"/>')
    size = 'refX="0" refY="3" markerWidth="6" markerHeight="6"'
    marker = f'<marker id="end" {size} orient="auto"><path d="M 0 0 6 3 0 6 z"/></marker>'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top - GAP + MARGIN}" role="img">',
            "<title>Layers of dpviz</title>",
            f"<style>{STYLE}</style>",
            f"<defs>{marker}</defs>",
            *parts,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else TARGET).write_text(picture())

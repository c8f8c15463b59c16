"""Words of people and files never reach Streamlit's Markdown as they came: tried, and looked for in the source."""

import ast
import doctest
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.runs.engine import Engine
from dpviz.runs.store.records import Event
from dpviz.ui import plain as module
from dpviz.ui.plain import LONGEST, on_chart, plain
from tests.ui.driver import charts, open_app
from tests.ui.runs_made import TINY, record

ROOT = Path(__file__).parents[2]
# What Streamlit reads as Markdown: first argument or `label`, `body`, `help`.
MARKDOWN = {
    "badge", "button", "caption", "checkbox", "code_input", "download_button", "error", "expander", "feedback",
    "file_uploader", "form_submit_button", "header", "info", "link_button", "markdown", "metric", "multiselect",
    "number_input", "page_link", "pills", "popover", "progress", "radio", "segmented_control", "select_slider",
    "selectbox", "slider", "spinner", "status", "subheader", "success", "tabs", "text_area", "text_input", "title",
    "toast", "toggle", "warning", "write",
}  # fmt: skip
# Makers of words that hold nothing of a person's: numbers in words, and plain() itself.
MAKERS = {"plain", "len", "int", "steps", "epsilon", "delta", "probability", "show", "legal"}
# Words of the house, by the name that holds them: a field's label and help, a page's assumptions.
OURS = {"label", "help", "assumptions", "symbol"}
# Other expressions that are ours, by file.
KNOWN = {
    "boundary.py": {"name"},  # a way on
    "controls.py": {"group.heading"},  # a paper's, declared with the page
    # A door's words, a question's assumptions in two levels, a formula's.
    "details.py": {"door", "first", "rest", "block.name", "block.text", "way.name", "name", "term", "means"},
    # Pages, doors and stops.
    "home.py": {
        "place",
        "question",
        "page.places()[door['page']]",
        "label",
        "number",
        "len(STOPS)",
        "stop.title",
        "text",
        "stop.page.title",
    },
    # Names and titles of papers and pages.
    "lecture.py": {
        "page.places()[KEY]",
        "lecture.paper.name",
        "lecture.paper.title",
        "other.paper.name",
        "other.paper.title",
        "f'Open in {stop.page.title}'",
    },
    "measuring.py": {"measurement.share or 0.0"},  # a number
    "own_controls.py": {"fits", "index + 1", "label", "help", "words"},  # numbers; a button's own words
    # Of a run's button; Name and Note, which a person may write; a pin's, plain; which runs are listed, in numbers.
    "page.py": {"help", "label", "name", "f'Runs {first + 1:,} to {min(first + PAGE, number):,} of {number:,}'"},
    "panel.py": {"words"},  # a number of settings
    "plan.py": {"help"},  # a button's own words
    "strip.py": {"help", "f'Read {poisson.words}'"},  # a button's own words; numbers of steps
    "watch.py": {"label", "help", "record.steps"},  # a button's own words; a number
}


def expressions(tree: ast.AST) -> Iterator[tuple[ast.Call, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MARKDOWN:
            of_streamlit = isinstance(node.func.value, ast.Name) and node.func.value.id == "st"
            if isinstance(node.func.value, ast.Name) and node.func.value.id in ("Keys", "state"):
                continue  # names of keys
            if not of_streamlit and node.func.attr in ("error", "title", "write", "status"):
                continue  # a text's title(), a field's write(), a state's error()
            yield from ((node, arg) for arg in node.args[:1])
            yield from ((node, k.value) for k in node.keywords if k.arg in ("label", "body", "help"))


def ours(found: ast.expr, file: str) -> bool:
    """Whether an expression holds words of the house only."""
    if isinstance(found, ast.Constant) or ast.unparse(found) in KNOWN.get(file, ()):
        return True
    parts: list[ast.expr]
    match found:
        case ast.Attribute(attr=name):
            return name in OURS or name.isupper()
        case ast.Name(id=name):
            return name.isupper()
        case ast.Call(func=ast.Attribute(value=text, attr="lower" | "upper" | "format" | "join"), args=arguments):
            parts = [text, *arguments]
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name in MAKERS
        case ast.JoinedStr(values=parts) | ast.BoolOp(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
            pass
        case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
            parts = [one, other]
        case ast.GeneratorExp(elt=part):
            parts = [part]
        case ast.FormattedValue(value=part) | ast.Subscript(value=part):
            parts = [part]
        case _:
            return False
    return all(ours(part, file) for part in parts)


@pytest.mark.parametrize("file", sorted((ROOT / "dpviz" / "ui").rglob("*.py")), ids=lambda p: p.name)
def test_every_label_is_ours_or_plain(file: Path) -> None:
    wrong = [
        f"{file.name}:{call.lineno}: {ast.unparse(found)}"
        for call, found in expressions(ast.parse(file.read_text()))
        if not ours(found, file.name)
    ]
    assert not wrong, "words that may be a person's: plain() them, or name them in KNOWN"


# Every way that Markdown, and Streamlit's own, makes something else of text (a link, an image, a colour, an icon, …).
NASTY = [
    "![x](https://example.com/x.png)", "[a](javascript:alert(1))", "https://example.com", "www.example.com/x",
    "me@example.com", "<img src=x onerror=alert(1)>", "**b** _i_ `c` ~~s~~", ":red[x]", ":material/delete:", ":smile:",
    "$x^2$", "&lt;b&gt;", "# head", "- item", "+ item", "1. one", "1) one", "> quote", "---", "a\\nb", "\\[x](y)",
]  # fmt: skip


@pytest.mark.parametrize("text", NASTY)
def test_nothing_is_left_that_markdown_reads(text: str) -> None:
    found = plain(text)
    bare = re.sub(r"\\[\\`*_\[\]<>&$~#+=-]", "x", found)  # what is escaped is text
    assert not re.search(r"[\\`*_\[\]<>&$~]|^[-+#=>]|^\d+[.)]|:\S(?<!\u2060)|www\.|@[\w]|\n", bare), found


@given(st.text(max_size=300))
def test_the_words_stay(text: str) -> None:
    found = re.sub(r"\\([\\`*_\[\]<>&$~#+=-])", r"\1", plain(text.replace("\u2060", ""))).replace("\u2060", "")
    assert found == " ".join(text.replace("\u2060", "").split())[:LONGEST] or len(text) > LONGEST
    assert len(found) <= LONGEST


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0
    assert on_chart("<a href='https://example.com'>x</a>") == "‹a href='https://example.com'>x‹/a>"


def test_a_name_is_plain_on_every_page(engine: Engine, events: list[Event]) -> None:
    name = "<b>x</b> ![x](https://example.com/x.png) :red[y]"
    run = record(engine, TINY, events, name=name)
    runs = open_app("runs", f"runs={run.id}")
    assert runs.expander[0].label.startswith(plain(name))
    assert "<b>x" not in str(charts(runs)[0])
    train = open_app("train")
    labels = [button.label for button in train.sidebar.button]
    assert any(label.startswith(plain(name)) for label in labels)
    bodies: list[Any] = [element.proto.body for element in open_app("train", f"run={run.id}").get("html")]
    assert not [body for body in bodies if "<b>x</b>" in body]

"""Words and charts of an answer, as figures and HTML: for a page, a frame of it, or a page that is handed out."""

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from dpviz.charts.plot import HEIGHT, Plot
from dpviz.fields.declared import MEANINGS
from dpviz.questions import AnyAnswer, AnyQuestion, Metric, Note, links
from dpviz.questions.accountant_cards import with_abouts
from dpviz.questions.listing import Cell, Listing
from dpviz.questions.plain_text import TAG, first_sentences

# Tags, and numbers with their names: they are bold, or values of metrics.
_TAGS = rf'<b\b[^>]*>.*?</b>|<span data-sets[^>]*>.*?</span>|<div class="value">.*?</div>|{TAG}'
# What no line break divides: a symbol and its value, a number and its unit or exponent.
_UNDIVIDED = re.compile(rf"{_TAGS}|(\w+ (?:[=≤≥≈]|&lt;) \d[\d.]*(?:e-\d+|\s%)?|\d[\d.]*(?:e-\d+|\s%))")
_SUBSCRIPT = re.compile(r"_(μ)\b")

LINE = 110  # characters of a headline on a slide
FIRST_ASSUMPTIONS = 4  # that are shown before the others are unfolded

# Markdown that questions write their assumptions in, after its text was escaped.
_SPANS = (
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"\*\*(.+?)\*\*"), r"<b>\1</b>"),
    (re.compile(r"\*(.+?)\*"), r"<i>\1</i>"),
    (re.compile(r"\[([^\]]+)\]\((https://[^)\s]+)\)"), r'<a href="\2">\1</a>'),
)


def rendered(question: AnyQuestion, answer: AnyAnswer, plot: Plot, *, slide: bool = False) -> dict[str, Any]:
    """Figure and words of an answer that is drawn as `plot`: headline, metrics, notes, the plot in a sentence.

    On a slide the headline is one line: its first sentences.
    """
    drawn = with_abouts(plot).chart(HEIGHT)
    notes = [*question.notes(answer), *map(Note, drawn.notes)]
    words = headline(question, answer, slide=slide), strip(question.metrics(answer)), "".join(map(noted, notes))
    sentence, metrics, below = explained(*words)
    return {"figure": drawn.figure, "headline": sentence, "strip": metrics, "notes": below, "alt": plot.alt}


def headline(question: AnyQuestion, answer: AnyAnswer, *, slide: bool = False) -> str:
    """The result in plain words, as HTML."""
    words = question.headline(answer)
    return first_sentences(words, LINE) if slide else words


@cache
def glossary() -> dict[str, str]:
    """What each term of glossary.toml means."""
    return {term: entry["means"].format_map(MEANINGS) for term, entry in _terms().items()}


@cache
def _terms() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("glossary.toml").read_text("utf-8"))


@cache
def _pattern() -> tuple[re.Pattern[str], dict[str, str]]:
    """What finds a term outside of numbers, and what opens each of its forms, with subscripts as HTML has them."""
    opening: dict[str, str] = {}
    means = glossary()
    for term, entry in _terms().items():
        for form in (term, *entry.get("also", ())):
            form = _SUBSCRIPT.sub(r"<sub>\1</sub>", form)
            first = form[0].upper() if form[0].isascii() else form[0]
            tag = f'<dfn tabindex="-1" data-means="{escape(means[term])}">'
            opening |= dict.fromkeys((form, first + form[1:]), tag)
    terms = "|".join(map(re.escape, sorted(opening, key=len, reverse=True)))
    return re.compile(rf"{_TAGS}|\b({terms})(?!\w|<sub>)"), opening


def explained(*html: str) -> list[str]:
    """The same texts as they are set: the first occurrence of each term of the glossary says what it means, subscripts
    are low, and no number is divided from what belongs to it."""
    pattern, opening = _pattern()
    seen: set[str] = set()

    def mark(match: re.Match[str]) -> str:
        tag = opening.get(match[1] or "", "")
        if not tag or tag in seen:
            return match[0]
        seen.add(tag)
        return f"{tag}{match[1]}</dfn>"

    def whole(match: re.Match[str]) -> str:
        return f"<span>{match[1]}</span>" if match[1] else match[0]

    return [pattern.sub(mark, _UNDIVIDED.sub(whole, _SUBSCRIPT.sub(r"<sub>\1</sub>", text))) for text in html]


def strip(metrics: Sequence[Metric]) -> str:
    """The metrics side by side, as HTML."""
    cells = "".join(
        f'<div class="metric"><div class="name">{escape(m.name)}</div><div class="value">{escape(m.value)}</div>'
        f'<div class="note">{_clauses(m.note)}</div></div>'
        for m in metrics
    )
    return f'<div class="dpviz-strip">{cells}</div>'


def _clauses(note: str) -> str:
    """Its parts between semicolons, each whole in a line of its tile or not seen there."""
    first, *others = escape(note).split("; ")
    return "".join(f"<span>{part}</span>" for part in (first, *(f"; {other}" for other in others)))


def noted(note: Note) -> str:
    """A line below the chart, as HTML."""
    role = ' role="alert"' if note.kind == "problem" else ""
    return f'<div class="dpviz-{note.kind}"{role}>{escape(note.text)}</div>'


def listed(listing: Listing) -> str:
    """Rows of words and links, as HTML; wide rows scroll by themselves."""
    head = "".join(
        f'<th style="width:{100 * width / sum(listing.widths):.3g}%">{escape(name)}</th>'
        for name, width in zip(listing.columns, listing.widths, strict=True)
    )
    body = "".join("<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in listing.rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="dpviz-listing" tabindex="0">{table}</div>'


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return _SPANS[1][0].sub(_SPANS[1][1], escape(cell))
    if not cell.to:
        return escape(cell.text)
    return f'<a href="{escape(links.address(cell.to))}" target="_self">{escape(cell.text)}</a>'


def two_levels(assumptions: str) -> tuple[str, str]:
    """Whom an answer protects, by which sampling and noise, and what is public; then the rest, to unfold.

    Questions state these first. One item more than these is no rest.

    >>> two_levels("- a\\n- b\\n- c\\n- d\\n- e\\n- f")
    ('- a\\n- b\\n- c\\n- d', '- e\\n- f')
    >>> two_levels("- a\\n- b")
    ('- a\\n- b', '')
    """
    blocks = _blocks(assumptions)
    if len(blocks) <= FIRST_ASSUMPTIONS + 1:
        return assumptions.strip(), ""
    return "\n".join(blocks[:FIRST_ASSUMPTIONS]), "\n".join(blocks[FIRST_ASSUMPTIONS:])


def _blocks(markdown: str) -> list[str]:
    """Paragraphs, and the items of lists."""
    return re.split(r"\n(?=- )|\n\s*\n", markdown.strip())


def paragraphs(markdown: str) -> str:
    """Paragraphs and lists with bold, italic, code and links, as HTML."""
    built = []
    for block in _blocks(markdown):
        text = escape(re.sub(r"[ \n\t]+", " ", block.removeprefix("- ")).strip(), quote=False)
        for pattern, by in _SPANS:
            text = pattern.sub(by, text)
        built.append(f"<li>{text}</li>" if block.startswith("- ") else f"<p>{text}</p>")
    return re.sub(r"((?:<li>.*?</li>)+)", r"<ul>\1</ul>", "".join(built))

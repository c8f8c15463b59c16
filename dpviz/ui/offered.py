"""What this server offers: everything, or on a public server what needs no runs, no PyTorch and no files of visitors.

All of it follows from the pages and their questions, so that a new page of training is closed without a word here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from dpviz._public import is_public
from dpviz.fields.field import AnyField, Choice
from dpviz.questions import catalogue, gradient_fields
from dpviz.questions.gradients import File
from dpviz.questions.layout import FieldControl
from dpviz.questions.listing import Cell, Listing, Way
from dpviz.questions.page import Page
from dpviz.questions.question import Compound
from dpviz.questions.source import Measurable

F = TypeVar("F", bound=AnyField)

PUBLIC = is_public()

PAGES: tuple[Page, ...] = tuple(page for page in catalogue.PAGES if not (PUBLIC and page.trains))
TRAINS = any(page.trains for page in PAGES)

# Settings that are read from the runs of this machine.
_OF_RUNS = {
    field.key
    for page in catalogue.PAGES
    for question in page.questions
    for setting in question.settings.values()
    if isinstance(setting, Compound) and setting.of_runs
    for field in setting.fields.values()
}
# Gradients that workers measure, or that a visitor's file holds.
_NOT_SERVED = {name for name, kind in gradient_fields.NAMED.items() if issubclass(kind, Measurable | File)}


def field(one: F) -> F:
    """The setting, with those of its options that this server can serve."""
    if not (PUBLIC and isinstance(one, Choice) and one.key == gradient_fields.SOURCE.key):
        return one
    return replace(one, options={key: words for key, words in one.options.items() if key not in _NOT_SERVED})


def groups(every: Mapping[str, Sequence[FieldControl]]) -> Mapping[str, Sequence[FieldControl]]:
    """The controls in groups, without those that set nothing but what runs are read."""
    if not PUBLIC:
        return every
    return {name: [one for one in controls if not _of_runs(one)] for name, controls in every.items()}


def _of_runs(control: FieldControl) -> bool:
    return bool(control.fields) and all(one.key in _OF_RUNS for one in control.fields)


def listing(rows: Listing) -> Listing:
    """The rows, without links to pages that are not here."""
    return replace(rows, rows=tuple(tuple(map(_cell, row)) for row in rows.rows)) if PUBLIC else rows


def _cell(cell: Cell) -> Cell:
    pages = {"", *(page.key for page in PAGES)}
    return "" if isinstance(cell, Way) and cell.to.partition("?")[0] not in pages else cell

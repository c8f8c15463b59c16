"""Rows of words with links to pages of the app, for what a data table would cut off."""

from dataclasses import dataclass
from typing import NamedTuple


class Way(NamedTuple):
    """A link: its text, and page and query relative to the app's root."""

    text: str
    to: str


Cell = str | Way


@dataclass(frozen=True)
class Listing:
    """Rows of cells below named columns.

    Attributes:
        columns: their heads.
        rows: each of as many cells.
        widths: shares of the width.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    widths: tuple[float, ...]

    def __post_init__(self) -> None:
        lengths = {len(self.widths), *(len(row) for row in self.rows)}
        if lengths != {len(self.columns)}:
            raise ValueError(f"Expected {len(self.columns)} cells in every row and as many widths, found {lengths}.")

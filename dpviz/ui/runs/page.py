"""The Runs page: filter, choose, compare, name, export."""

from __future__ import annotations

from dpviz.ui import page


def show() -> None:
    """Draw the page."""
    page.begin()

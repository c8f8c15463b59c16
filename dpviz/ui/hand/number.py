"""A number's control: slider, exact text, and what is said below, drawn and moved in the browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from dpviz.ui.hand.served import stub

_number = st.components.v2.component("dpviz.number", js=stub("number"), isolate_styles=False)


def number(key: str, *, entered: Callable[[], None], **told: Any) -> None:
    """One control.

    Args:
        key: of its state, {"entry": {"text": what was entered, "exact": whether the slider or a choice wrote it, not a
            person, "n": a number that grows with every entry}}.
        entered: called when there is another entry.
        told: what the browser draws:
            field: the field's key; label, shows_label, help.
            text: what stands in the text field; said: the same for the ear.
            stops: the slider's stops as texts, none for a text field alone; whole: whether only whole numbers will do.
            seen: the last entry that `text` knows of.
            ends, note, wrong: what stands below.
    """
    _number(key=key, data=told, on_entry_change=entered)

"""What a browser is told of controls that it has already."""

from typing import Any

import pytest
import streamlit as st

from dpviz.ui import panel
from dpviz.ui.state import Keys


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """What two controls say, to be changed; they were drawn as they are."""
    messages = {"sigma": {"label": "σ", "text": "1"}, "q": {"label": "q", "text": "0.01"}}
    monkeypatch.setattr(st, "session_state", {})
    monkeypatch.setattr(panel, "messages", lambda _: {key: dict(one) for key, one in messages.items()})
    panel.draw([])
    return messages


def test_only_what_differs_is_told(says: dict[str, dict[str, Any]]) -> None:
    assert panel.changed_messages([]) == {}
    says["sigma"]["text"] = "2"
    assert panel.changed_messages([]) == {"sigma": {"text": "2"}}


def test_the_last_answer_tells_all_since_the_drawing(says: dict[str, dict[str, Any]]) -> None:
    """A browser that has two answers at once looks at the last one alone."""
    says["sigma"]["text"] = "2"
    panel.changed_messages([])
    says["q"]["text"] = "0.02"
    assert panel.changed_messages([]) == {"sigma": {"text": "2"}, "q": {"text": "0.02"}}


def test_what_is_as_it_was_drawn_is_told_again(says: dict[str, dict[str, Any]]) -> None:
    says["sigma"]["text"] = "2"
    panel.changed_messages([])
    says["sigma"]["text"] = "1"
    assert panel.changed_messages([]) == {"sigma": {"text": "1"}}


def test_a_drawing_tells_all(says: dict[str, dict[str, Any]]) -> None:
    says["sigma"]["text"] = "2"
    panel.changed_messages([])
    panel.draw([])
    assert panel.changed_messages([]) == {}
    assert st.session_state[Keys.MESSAGES]["sigma"]["text"] == "2"

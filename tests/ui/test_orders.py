"""The Orders page: what the renderer adds to its questions."""

from __future__ import annotations

import pytest

from tests.ui.driver import charts, enter, html_of, open_app, open_part


def test_bad_text_names_the_value_and_keeps_the_rest() -> None:
    at = open_app("orders", "sigma=2&expert=1")
    open_part(at, "orders.group", ["Mechanism", "Show"], "Show")
    enter(at, "omax", "0.5")
    assert not at.exception
    assert "0.5 is outside ≥ 2 and ≤ 1000000; try 512." in html_of(at)
    assert at.session_state["value.sigma"] == 2.0


@pytest.mark.parametrize("view", ["epsilon", "divergence"])
def test_a_pin_answers_the_question_on_screen(view: str) -> None:
    at = open_app("orders", f"oview={view}&pin=oview%3Dconcentrated%26sigma%3D3")
    drawn = charts(at)[0]
    name = {"epsilon": "improved", "divergence": "exact"}[view]
    names = [note["text"] for note in drawn["layout"]["annotations"]]
    assert sum(f"σ 3: {name}" in text for text in names) == 1
    assert sum("σ 3" in text for text in names) == 1, "and nothing else of it"

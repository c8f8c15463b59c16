"""The chance of being drawn, and what is said where it fits into δ."""

from __future__ import annotations

import math

from dpviz.accounting.no_noise import chance_of_being_drawn, no_noise_needed


def test_is_never_rounded_down() -> None:
    assert chance_of_being_drawn(1e-6, 100) >= math.fsum([1e-4, -4950e-12, 161_700e-18])


def test_who_asks_for_a_private_run_is_told() -> None:
    said = no_noise_needed(0.5, 0.01, 10)
    assert said.startswith("Expected delta=0.5 < 0.0956 = 1 − (1 − q)^T")
    assert "no noise is needed" in said
    assert "Lower delta" in said

"""What is assumed wherever q may be given as batch ÷ N."""

from __future__ import annotations

from typing import Any

import pytest

from dpviz.training.events import PUBLIC_SIZE
from dpviz.ui.attack import study as attack
from dpviz.ui.budget import study as budget
from dpviz.ui.compose import study as compose
from dpviz.ui.langevin import study as langevin
from dpviz.ui.noise import study as noise
from dpviz.ui.orders import study as orders


@pytest.mark.parametrize(
    "page", [attack, budget, compose, langevin, noise, orders], ids=lambda page: page.__name__.split(".")[-2]
)
def test_every_page_says_that_the_size_is_public(page: Any) -> None:
    assert f"- {PUBLIC_SIZE}" in page.STUDY.assumptions.splitlines()

"""Fixtures of the contract: each accountant that its tests are run over."""

import pytest

from tests.contract.cases import CASES, QUICK, SLOW, Case


@pytest.fixture(params=list(CASES), scope="module")
def case(request: pytest.FixtureRequest) -> Case:
    """Every accountant."""
    return CASES[request.param]


@pytest.fixture(params=list(QUICK), scope="module")
def quick(request: pytest.FixtureRequest) -> Case:
    """Those that answer in microseconds, for many random settings."""
    return QUICK[request.param]


@pytest.fixture(params=list(SLOW), scope="module")
def slow(request: pytest.FixtureRequest) -> Case:
    """Those that take tenths of a second, for a few common ones."""
    return SLOW[request.param]

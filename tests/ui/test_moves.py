"""A move within a fragment interrupts no script: what waits must look out for it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests

from dpviz.ui import measuring, moves


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> ScriptRequests:
    """Those of the script that runs, as Streamlit keeps them."""
    found = ScriptRequests()
    monkeypatch.setattr(moves, "get_script_run_ctx", lambda **_: SimpleNamespace(script_requests=found))
    return found


def test_a_move_in_the_fragment_is_seen_and_streamlit_would_not_interrupt_for_it(requests: ScriptRequests) -> None:
    assert not moves.moved()
    requests.request_rerun(RerunData(fragment_id="body", fragment_id_queue=["body"]))
    assert requests.on_scriptrunner_yield() is None
    assert moves.moved()


def test_a_measurement_is_not_waited_for_either(requests: ScriptRequests) -> None:
    assert measuring._disturbed() is False
    requests.request_rerun(RerunData(fragment_id="body", fragment_id_queue=["body"]))
    assert measuring._disturbed() is True

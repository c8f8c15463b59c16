"""One torch thread: the machine is shared, and small tensors gain nothing from more. Each test is its own program."""

import pytest
import torch

from dpviz.training.accounts import earlier

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _no_earlier_trainings(monkeypatch):
    monkeypatch.setattr(earlier, "ledger", [])

"""Numbers as they were: which writes a snapshot shows, and which are none."""

import numpy as np
import pytest
import torch

from dpviz.training.engine.snapshot import LARGE, Snapshot, named_leaves


def values():
    return {
        "single": torch.tensor([[1.0, float("nan")], [-0.0, float("inf")]]),
        "double": torch.arange(5, dtype=torch.float64),
        "half": torch.ones(3, dtype=torch.bfloat16),
        "whole": torch.tensor(7),
        "truth": torch.tensor([True, False]),
        "complex": torch.tensor([1 + 2j, 3j]).conj(),
        "sparse": torch.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse(),
        "turned": torch.arange(6.0).view(2, 3).T,
        "nothing": torch.empty(0),
        "large": torch.zeros(LARGE),
        "number": 0.1,
        "not a number": float("nan"),
        "text": "adam",
        "none": None,
    }


def test_what_is_as_it_was_is_not_changed():
    before = values()
    left = Snapshot(before)
    assert left.changed(before) is left.changed(values()) is None
    turned = dict(reversed(before.items()))
    assert left.changed(turned | {"turned": before["turned"].contiguous()}) is None


@pytest.mark.parametrize("name", values())
def test_a_write_is_seen_and_named(name):
    before = values()
    left = Snapshot(before)
    value = before[name]
    if not isinstance(value, torch.Tensor):
        before[name] = "another"
    elif value.is_sparse:
        value._values().fill_(3.0)
    elif value.numel() == 0:
        before[name] = torch.zeros(1)
    elif value.dtype is torch.bool:
        value.logical_not_()
    else:
        value.data.fill_(5)
    assert list(left.changes(before)) == [name]


@pytest.mark.parametrize("name", ["single", "large"])
def test_one_bit_by_numpy_is_seen(name):
    before = values()
    left = Snapshot(before)
    before[name].numpy().view(np.int32).reshape(-1)[-1] ^= 1
    assert left.changed(before) == name


def test_another_shape_type_or_name_is_a_change():
    before = values()
    left = Snapshot(before)
    assert left.changed(before | {"double": before["double"].view(5, 1)}) == "double"
    assert left.changed(before | {"double": before["double"].view(torch.int64)}) == "double"
    assert left.changed(before | {"more": torch.zeros(2)}) == "more"
    del before["whole"]
    assert left.changed(before) == "whole"


def test_containers_are_gone_through():
    leaves = dict(named_leaves({"a": [torch.zeros(1), {"b": 2}], "c": np.ones(2)}))
    assert [*leaves] == [("a", 0), ("a", 1, "b"), ("c",)]
    assert torch.equal(leaves["c",], torch.ones(2, dtype=torch.float64))

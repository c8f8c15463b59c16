"""Numbers as they were: which writes a snapshot shows, and which are none."""

import numpy as np
import pytest
import torch

from dpviz.training.engine import snapshot
from dpviz.training.engine.snapshot import LARGE, Fingerprint, Snapshot, named_leaves


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


@pytest.mark.parametrize("name", values())
def test_what_is_read_later_is_the_same_answer(name, monkeypatch):
    monkeypatch.setattr(snapshot, "READ_AT_ONCE", frozenset())
    before = values()
    left = Snapshot(before)
    assert not bool(left.differs(before))
    if isinstance(before[name], torch.Tensor) and before[name].numel() and before[name].layout is torch.strided:
        assert isinstance(left.differs(before), torch.Tensor)
        before[name] = before[name].logical_not() if name == "truth" else before[name] + 1
        assert isinstance(left.differs(before), torch.Tensor)
        assert bool(left.differs(before))
        assert list(left.changes(before)) == [name]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_fingerprint_is_the_two_sums_it_says(dtype):
    parts = [torch.randn(7, 3, dtype=dtype), torch.randn(0, dtype=dtype), torch.randn(40_000, dtype=dtype)]
    fingerprint = Fingerprint(parts)
    random = [int(each) for each in fingerprint._random.tolist()]
    words = [int(each) for part in parts for each in part.flatten().view(torch.int32).tolist()]
    wanted = [sum(r * x for r, x in zip(random[at:], words, strict=False)) % 2**64 for at in range(2)]
    assert [each % 2**64 for each in fingerprint(parts).tolist()] == wanted
    assert len(random) == len(words) + 1
    assert fingerprint([part.clone() for part in parts]).tolist() == fingerprint(parts).tolist()
    assert Fingerprint(parts)(parts).tolist() != fingerprint(parts).tolist()


@pytest.mark.parametrize("at", [0, 20, -1])
def test_one_bit_changes_a_fingerprint(at):
    parts = [torch.randn(7, 3), torch.randn(5)]
    fingerprint = Fingerprint(parts)
    before = fingerprint(parts).tolist()
    torch.cat([part.flatten() for part in parts])
    part = parts[1] if at < 0 else parts[0]
    part.view(torch.int32).view(-1)[at] ^= 1 << 30
    after = fingerprint(parts).tolist()
    assert before[0] != after[0]
    assert before[1] != after[1]


def test_containers_are_gone_through():
    leaves = dict(named_leaves({"a": [torch.zeros(1), {"b": 2}], "c": np.ones(2)}))
    assert [*leaves] == [("a", 0), ("a", 1, "b"), ("c",)]
    assert torch.equal(leaves["c",], torch.ones(2, dtype=torch.float64))

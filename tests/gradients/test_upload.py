"""Uploaded files: what is read, and what is refused with which words."""

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.gradients import upload
from dpviz.gradients.upload import columns, read_distances


def npy(array: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(array), **options)
    return stream.getvalue()


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "f4", "f2", "i1", "u8", "<i4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays(dtype: str, order: Any) -> None:
    table = np.array([[1, 2], [3, 4], [5, 6]], dtype=dtype, order=order)
    assert read_distances(npy(table), "x.npy", "column 2").norms.tolist() == [2, 4, 6]
    assert read_distances(npy(table[:, 0]), "x.npy").norms.tolist() == [1, 3, 5]
    assert read_distances(npy(table[:, :1]), "x.npy").norms.tolist() == [1, 3, 5]
    assert columns(npy(table), "x.npy") == ["column 1", "column 2"]


def test_digits_survive() -> None:
    values = np.random.default_rng(0).weibull(0.5, 1000)
    text = "\n".join(map(repr, values.tolist())).encode()
    assert (read_distances(text, "x.csv").norms == values).all()
    assert (read_distances(npy(values), "x.npy").norms == values).all()


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("a pickle was executed",))


def zipped() -> bytes:
    stream = io.BytesIO()
    np.savez(stream, a=np.ones(3))
    return stream.getvalue()


HUGE = npy(np.ones(4)).replace(b"(4,), }" + b" " * 20, b"(400000000000,), }" + b" " * 9)


def test_too_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload, "MOST_ROWS", 1000)
    with pytest.raises(ValueError, match=r"at most 1,000 rows in x.csv, found 1,500: take a random part"):
        read_distances(b"1\n" * 1500, "x.csv")
    with pytest.raises(ValueError, match=r"at most 1,000 rows in x.npy, found 1,001"):
        read_distances(npy(np.ones(1001)), "x.npy")
    assert read_distances(b"norm\n" + b"1\n" * 1000, "x.csv").size == 1000
    assert upload.MOST_ROWS == 1000


TEXT = st.lists(st.text("0123456789.eE+-,;\t\"' \nanif", max_size=12), max_size=8).map(
    lambda rows: "\n".join(rows).encode()
)
BYTES = st.binary(max_size=200) | st.binary(max_size=150).map(lambda tail: b"\x93NUMPY\x01\x00" + tail)


@given(TEXT | BYTES, st.sampled_from([None, "column 1", "column 2"]))
@settings(max_examples=600, deadline=None)
def test_anything_gives_a_sample_or_a_reason(data: bytes, column: str | None) -> None:
    """Any other exception than ValueError fails the test."""
    norms, reason = np.empty(0), ""
    try:
        norms = read_distances(data, "rubbish", column).norms
    except ValueError as error:
        reason = str(error)
    assert bool(norms.size) != ("rubbish" in reason)
    assert (np.isfinite(norms) & (norms >= 0)).all()

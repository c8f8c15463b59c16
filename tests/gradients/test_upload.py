"""Uploaded files: what is read, and what is refused with which words."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    ("data", "column", "expected"),
    [
        (b"1\n2\n3.5", None, [1, 2, 3.5]),
        (b"norm\n1\n2e-3\n", None, [1, 0.002]),
        (b"norm\r\n1\r\n2\r\n", None, [1, 2]),
        (b"1\r2\r3", None, [1, 2, 3]),
        (b"\xef\xbb\xbfnorm\n1\n2\n", None, [1, 2]),
        (b"\n\nnorm\n\n1\n\n2\n\n", None, [1, 2]),
        (b'"1"\n"2"\n', None, [1, 2]),
        (b" 1 \n  2\n", None, [1, 2]),
        (b"id,norm\na,1\nb,2\n", "norm", [1, 2]),
        (b"id;norm\na;1\nb;2\n", "norm", [1, 2]),
        (b"id\tnorm\na\t1\nb\t2\n", "norm", [1, 2]),
        (b"\tnorm\na\t1\nb\t2\n", "norm", [1, 2]),
        (b"1,2\n3,4\n", "column 2", [2, 4]),
        (b"a,a\n1,2\n3,4\n", "a 2", [2, 4]),
        ("größe\n1\n2\n".encode(), None, [1, 2]),
    ],
)
def test_text(data: bytes, column: str | None, expected: list[float]) -> None:
    sample = read_distances(data, "norms.csv", column)
    assert sample.norms.tolist() == expected
    assert sample.pairs is None
    assert "norms.csv" in sample.description


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


def test_columns_for_a_chooser() -> None:
    assert columns(b"id, norm ,\n1,2,3\n", "x.csv") == ["id", "norm", "column 3"]
    assert columns(b"1,2\n3,4", "x.csv") == ["column 1", "column 2"]


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


def norms_or_reason(data: bytes, column: str | None = None) -> tuple[list[float], str]:
    """Any other exception than ValueError fails the test."""
    try:
        return read_distances(data, "rubbish", column).norms.tolist(), ""
    except ValueError as error:
        return [], str(error)


@given(st.one_of(st.binary(max_size=200), st.binary(max_size=150).map(lambda tail: b"\x93NUMPY\x01\x00" + tail)))
@settings(max_examples=300, deadline=None)
def test_any_bytes_give_a_sample_or_a_reason(data: bytes) -> None:
    norms, reason = norms_or_reason(data)
    assert bool(norms) != ("rubbish" in reason)
    assert np.isfinite(norms).all()


@given(
    st.lists(st.text("0123456789.eE+-,;\t\"' \nanif", max_size=12), max_size=8).map("\n".join),
    st.sampled_from([None, "column 1", "column 2"]),
)
@settings(max_examples=300, deadline=None)
def test_any_text_gives_a_sample_or_a_reason(text: str, column: str | None) -> None:
    norms, reason = norms_or_reason(text.encode(), column)
    assert bool(norms) != ("rubbish" in reason)
    assert (np.array(norms) >= 0).all()

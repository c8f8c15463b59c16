"""Uploaded files: what is read, and what is refused with which words."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.gradients import file_limits
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
    monkeypatch.setattr(file_limits, "MOST_ROWS", 1000)
    with pytest.raises(ValueError, match=r"at most 1,000 rows in x.csv, found 1,500: take a random part"):
        read_distances(b"1\n" * 1500, "x.csv")
    with pytest.raises(ValueError, match=r"at most 1,000 rows in x.npy, found 1,001"):
        read_distances(npy(np.ones(1001)), "x.npy")
    assert read_distances(b"norm\n" + b"1\n" * 1000, "x.csv").size == 1000
    assert file_limits.MOST_ROWS == 1000


CASES = json.loads(Path(__file__).with_name("uploads.json").read_text("utf-8"))["cases"]


@pytest.mark.parametrize(("text", "norms"), CASES)
def test_a_file_with_one_reading_is_read_and_another_is_refused_with_its_line(
    text: str, norms: list[float] | None
) -> None:
    data = text.encode()
    if norms is None:
        with pytest.raises(ValueError, match=r"line \d+ "):
            read_distances(data, "norms.csv", columns(data, "norms.csv")[0])
    else:
        assert read_distances(data, "norms.csv", columns(data, "norms.csv")[0]).norms.tolist() == norms


def test_a_quoted_cell_of_two_lines_does_not_move_the_line_that_is_named() -> None:
    with pytest.raises(ValueError, match="line 5 holds the text 'much'"):
        read_distances(b'norm,"a\nb"\n0.5,"c\nd"\nmuch,e\n', "norms.csv", "norm")


TENSORBOARD_CSV = b"Wall time,Step,Value\n1700000000.5,0,0.5\n1700000010.5,10,0.7\n"
TENSORBOARD_JSON = b"[[1700000000.5, 0, 0.5], [1700000010.5, 10, 0.7]]"
WANDB = b'"Step","lively-sun-1 - grad_norm","lively-sun-1 - grad_norm__MIN","lively-sun-1 - grad_norm__MAX"\n' + (
    b'"0","0.5","0.5","0.5"\n"10","0.7","0.7","0.7"\n'
)
WANDB_TABLE = b",_step,_runtime,grad_norm\n0,0,1.5,0.5\n1,1,2.5,0.7\n"


@pytest.mark.parametrize(
    ("data", "name"),
    [(TENSORBOARD_CSV, "run.csv"), (TENSORBOARD_JSON, "run.json"), (WANDB, "wandb.csv"), (WANDB_TABLE, "wandb.csv")],
)
def test_exports_of_norms_open_without_a_choice_of_their_column(data: bytes, name: str) -> None:
    """Counters and times are offered last, and W&B's copies for its band of minimum and maximum too."""
    read = read_distances(data, name)
    assert read.norms.tolist() == [0.5, 0.7]
    assert columns(data, name)[0] in read.description


def test_steps_at_which_a_run_of_an_export_logged_nothing_are_left_out_and_counted() -> None:
    data = b'"Step","a - norm","b - norm"\n"0","0.5",""\n"1","","0.9"\n"2","0.7",""\n"3","","0.8"\n'
    read = read_distances(data, "wandb.csv", "b - norm")
    assert read.norms.tolist() == [0.9, 0.8]
    assert "2 steps without a value are left out" in read.description
    with pytest.raises(ValueError, match="choose one of wandb.csv's 3 columns: 'a - norm', 'b - norm', 'Step'"):
        read_distances(data, "wandb.csv")
    with pytest.raises(ValueError, match="line 3 holds nothing or NaN"):
        read_distances(data.replace(b'"","0.9"', b'"","NaN"'), "wandb.csv", "b - norm")


@pytest.mark.parametrize("data", [b"[[1, 2, 3], [4, 5]]", b'[["a", 1, 2], [1, 2, 3]]', b"[[1, 2, 3", b"[[1, 2, true]]"])
def test_other_json_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="Expected x.json"):
        read_distances(data, "x.json")


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

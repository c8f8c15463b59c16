import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpviz.training.data.idx import parse_idx, write_idx


def test_reads_a_file_written_by_hand():
    raw = bytes.fromhex("000008020000000200000003") + bytes([1, 2, 3, 4, 5, 255])
    found = parse_idx(raw)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, [[1, 2, 3], [4, 5, 255]])


@given(hnp.arrays(np.uint8, hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4)))
def test_write_then_parse_is_the_identity(array):
    found = parse_idx(write_idx(array))
    assert found.shape == array.shape
    np.testing.assert_array_equal(found, array)


@given(st.binary(max_size=64))
def test_rubbish_gives_a_value_error_or_an_array_of_the_stated_size(raw):
    try:
        found = parse_idx(raw)
    except ValueError:
        return
    assert write_idx(found) == raw

"""A NumPy array from a stranger's file: nothing in it is executed, and nothing is allocated on its header's word."""

import io
import math
from dataclasses import dataclass

import numpy as np

from dpviz._arrays import Array
from dpviz.gradients.file_limits import MOST_COLUMNS, check_rows

MAGIC = b"\x93NUMPY"


@dataclass(frozen=True)
class NpyFile:
    """An array of shape (rows,) or (rows, columns).

    Attributes:
        names: "column 1", "column 2", …
    """

    data: bytes
    names: list[str]

    def column(self, position: int) -> tuple[Array, None]:
        """The numbers of one column, none of which may be left out."""
        table = np.load(io.BytesIO(self.data), allow_pickle=False)
        with np.errstate(over="ignore"):
            return np.array(table if table.ndim == 1 else table[:, position], dtype=np.float64), None

    def place(self, row: int) -> str:
        """Where a number stands, counted from 1."""
        return f"row {row + 1:,}"


def open_npy(data: bytes, name: str) -> NpyFile:
    """The file, after its header was checked against the bytes that are there: a header may claim any shape.

    Raises:
        ValueError: saying what else it holds.
    """
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, _, dtype = read(stream)
        shape = tuple(int(length) for length in shape)
    except Exception:  # the parser raises whatever rubbish makes it raise, from SyntaxError to RecursionError
        raise ValueError(f"Expected {name} to be a NumPy array of numbers; its header cannot be read.") from None
    if dtype.hasobject:
        raise ValueError(f"Expected {name} to hold numbers, found Python objects, which are never loaded: save floats.")
    if dtype.kind not in "fiu":
        raise ValueError(f"Expected {name} to hold real numbers, found type {dtype}: save it as floats.")
    if len(shape) not in (1, 2):
        raise ValueError(f"Expected {name} of shape (rows,) or (rows, columns), found {shape}.")
    if min(shape) < 0 or len(data) - stream.tell() != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"Expected {name} to hold an array of shape {shape}; it is cut off or damaged.")
    check_rows(name, shape[0])
    columns = shape[1] if len(shape) == 2 else 1
    if not 1 <= columns <= MOST_COLUMNS:
        raise ValueError(f"Expected {name} of 1 to {MOST_COLUMNS:,} columns, found shape {shape}.")
    return NpyFile(data, [f"column {i + 1}" for i in range(columns)])

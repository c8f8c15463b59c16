"""The idx format of the MNIST family: a magic number, the sizes, then the bytes.

Byte 3 of the magic number says the element type (8 = unsigned byte, the only one these sets use) and byte 4 the
number of dimensions; each size is a big-endian 32-bit integer (LeCun, Cortes, Burges, "The MNIST database").
"""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

_UNSIGNED_BYTE = 8


def parse_idx(raw: bytes, name: str = "idx data") -> Bytes:
    """The array in `raw`, an uncompressed idx file of unsigned bytes.

    Returns:
        A read-only uint8 array of the shape that the header states.

    Raises:
        ValueError: if the header is not idx, holds another element type, or the length does not fit the sizes.
    """
    if len(raw) < 4 or raw[:2] != b"\0\0":
        raise ValueError(f"Expected {name} to be an idx file, found a start of {raw[:4].hex() or 'nothing'}.")
    kind, dimensions = raw[2], raw[3]
    if kind != _UNSIGNED_BYTE:
        raise ValueError(f"Expected {name} to hold unsigned bytes (type 8), found type {kind}.")
    start = 4 + 4 * dimensions
    if dimensions == 0 or len(raw) < start:
        raise ValueError(f"Expected {name} to state its sizes, found {dimensions} dimensions in {len(raw)} bytes.")
    shape = struct.unpack(f">{dimensions}I", raw[4:start])
    if len(raw) - start != int(np.prod(shape, dtype=np.int64)):
        raise ValueError(f"Expected {name} to hold {shape} bytes, found {len(raw) - start}: the file is cut or padded.")
    return np.frombuffer(raw, dtype=np.uint8, offset=start).reshape(shape)


def write_idx(array: Bytes) -> bytes:
    """The idx file of a uint8 array; the inverse of `parse_idx`."""
    if array.dtype != np.uint8 or array.ndim == 0:
        raise ValueError(f"Expected an array of uint8 with a dimension, found {array.dtype} of shape {array.shape}.")
    header = bytes([0, 0, _UNSIGNED_BYTE, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + np.ascontiguousarray(array).tobytes()

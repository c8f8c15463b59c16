"""A run file as lines of JSON, compressed by gzip: written and read one by one, so that no run is in memory whole.

>>> file = io.BytesIO(written([{"kind": "note"}, {"kind": "done"}]))
>>> [json.loads(line)["kind"] for line in each_line(file)]
['note', 'done']
"""

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from dpviz.runs.exchange.checks import NotARun, expect
from dpviz.runs.store import jsontext

LARGEST = 2 * 1024**3  # bytes of text: 10^6 events of a step each
LONGEST = 32 * 1024**2  # bytes of a line: 300,000 distances are 6 MB
_GZIP = b"\x1f\x8b"
_LEVEL = 3  # digits compress to a third; the highest level takes five times as long for a tenth less


def written(values: Iterable[Any]) -> bytes:
    """A file with one line for each value.

    Raises:
        NotARun: if `each_line` would not read it again.
    """
    out, size = io.BytesIO(), 0
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=_LEVEL, mtime=0) as text:
        for value in values:
            line = jsontext.write(value).encode() + b"\n"
            size = _with(line, size)
            text.write(line)
    return out.getvalue()


def each_line(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file from its beginning, compressed or not.

    Raises:
        NotARun: if a line or all of them are too long, or if the compressed file is damaged.
    """
    file.seek(0)
    compressed = file.read(len(_GZIP)) == _GZIP
    file.seek(0)
    text: Any = gzip.GzipFile(fileobj=file) if compressed else file
    size = 0
    try:
        while line := text.readline(LONGEST + 1):
            size = _with(line, size)
            yield line
    except (OSError, EOFError, zlib.error) as error:
        raise NotARun(f"Expected a whole file of an exported run; it is damaged ({str(error)[:200]}).") from None


def _with(line: bytes, size: int) -> int:
    """The size of the text with one more line, if that is not too large."""
    expect(len(line) <= LONGEST, f"lines of at most {LONGEST // 1024**2} MB")
    expect(size + len(line) <= LARGEST, f"a file of at most {LARGEST // 1024**2:,} MB of text")
    return size + len(line)

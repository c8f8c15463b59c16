"""Numbers from CSV text that a stranger wrote: with points or commas as decimal signs, and with one reading only.

A file is read where its lines have equally many cells, and its cells one meaning. “0,5763” below one column name is a
number with a decimal comma; alone in a file without names it may as well be two columns, and is refused with its line.
"""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpviz._arrays import Array
from dpviz.gradients.file_limits import MOST_COLUMNS, check_rows

SEPARATORS = ("\t", ";", ",")  # what separates cells, before what may also stand in a number
EMPTY = b"\x00"  # stands for an empty cell: no file holds it
UNIT = "\x1f"  # separates the cells of a file whose quotes were taken off
CHUNK = 1 << 24  # bytes whose cells are counted at once
SWAP = bytes.maketrans(b",.", b".,")
# A line that is not one number with a decimal comma, and one that is not a number with groups of three digits.
NOT_ONE_NUMBER = re.compile(rb"^(?![+-]?\d+(?:,\d+)?(?:[eE][+-]?\d+)?[ \t]*$)[^\n]*\S[^\n]*", re.MULTILINE)
DECIMAL_COMMA = re.compile(
    rb"(?:^|[;\t\x1f])[ ]*[+-]?(?:0\d*,\d+|\d{4,},\d+|\d+,(?:\d{1,2}|\d{4,})(?!\d))(?:[eE][+-]?\d+)?"
    rb"[ ]*(?=$|[;\t\x1f])",
    re.MULTILINE,
)
WANDB_CURVE = re.compile(r".* - .+")


class _Line(NamedTuple):
    number: int  # counted from 1, blank ones too
    text: bytes


@dataclass(frozen=True)
class CsvFile:
    """A table of text.

    Attributes:
        name: the file's name, for messages.
        names: of the columns; "column 1", "column 2", … where the file has no line of names.
        body: the lines with their ends as "\\n", without quotes.
        separator: what separates cells; "" where each line is one number.
        header: whether the first line that is not blank holds the names.
        gaps: whether a cell may be empty: in an export of several runs, where one logged nothing at another's step.
    """

    name: str
    names: list[str]
    body: bytes
    separator: str
    header: bool
    gaps: bool

    def column(self, position: int) -> tuple[Array, NDArray[np.bool_] | None]:
        """The numbers of one column, and which cells were empty; None where none may be.

        Raises:
            ValueError: a cell is no number, or has two readings.
        """
        column = self.names[position]
        if self.header and sum(1 for _ in zip(_filled(self.body), range(2), strict=False)) < 2:
            names = ", ".join(repr(one[:40]) for one in self.names[:20])
            raise ValueError(f"Expected numbers in {self.name}, found only the line of column names {names}.")
        if self.gaps:
            cells: list[bytes] = []
            for number, text in self._rows():
                cells += [b""] * (number - 1 - len(cells))
                cells.append(text.split(self.separator.encode())[position].strip() or EMPTY)
            empty = np.array([cell == EMPTY for cell in cells if cell])
            numbers = b"\n".join(b"0" if cell == EMPTY else cell for cell in cells)
            return CsvFile(self.name, [column], numbers, "", header=False, gaps=False).column(0)[0], empty
        try:
            return self._numbers(self.body, position), None
        except ValueError as error:
            problem = self._problem(str(error), column)
            if self.separator == "," or b"," not in self.body:
                raise problem from None
        try:
            values = self._numbers(self.body.translate(SWAP), position)
        except ValueError as error:
            raise self._problem(str(error), column, swapped=True) from None
        if not DECIMAL_COMMA.search(self.body):
            line = next(line for line in self._rows() if b"," in line.text)
            raise ValueError(
                f"Expected one reading of {self.name}, {column}: {_quoted(line)}, where a comma may be a decimal sign "
                "or stand between thousands. Write decimal points."
            )
        return values, None

    def place(self, row: int) -> str:
        """Where a number stands: its line, counted from 1 with header and blank lines."""
        number = next((line.number for i, line in enumerate(self._rows()) if i == row), row + 1)
        return f"line {number:,}"

    def _rows(self) -> Iterator[_Line]:
        """The lines of numbers."""
        lines = _filled(self.body)
        if self.header:
            next(lines, None)
        return lines

    def _numbers(self, body: bytes, position: int) -> Array:
        # text in, not bytes: NumPy's parser reads 10⁷ rows in two seconds so, and four times slower from bytes
        lines = io.TextIOWrapper(io.BytesIO(body.lstrip(b"\n")), encoding="utf-8")
        separator, skipped = self.separator or UNIT, int(self.header)
        return np.loadtxt(lines, delimiter=separator, skiprows=skipped, usecols=[position], comments=None, ndmin=1)

    def _problem(self, reason: str, column: str, *, swapped: bool = False) -> ValueError:
        """NumPy's message in our words, with the line."""
        text = re.search(r"could not convert string '(.*)' to float64 at row (\d+)", reason, re.DOTALL)
        if text is None:
            return ValueError(f"Expected {self.name} as CSV text with one number per line and column: {reason[:200]}.")
        written = text[1].translate(str.maketrans(",.", ".,")) if swapped else text[1]
        cell = f"the text {written.strip()[:40]!r}" if written.strip() else "nothing"
        return ValueError(f"Expected numbers in {self.name}, {column}: {self.place(int(text[2]))} holds {cell}.")


def open_csv(data: bytes, name: str) -> CsvFile:
    """The file with its columns.

    Raises:
        ValueError: it is no text, has too many rows or columns, lines of different lengths, or several readings.
    """
    body = _text(data, name)
    lines = _filled(body)
    first = next(lines)
    separator = _separator(first.text, next(lines, first).text)
    if b'"' in body:
        body, separator = _unquoted(body, name, separator or ","), UNIT
        if (first := next(_filled(body), first)).text.isspace() or not body.strip():
            raise ValueError(f"Expected numbers in {name}, found an empty file.")
    cells = [cell.strip() for cell in first.text.decode().split(separator or UNIT)]
    if len(cells) > MOST_COLUMNS:
        raise ValueError(f"Expected {name} of 1 to {MOST_COLUMNS:,} columns, found {len(cells):,}.")
    header = _are_names(cells)
    names = _unique(cells) if header else [f"column {i + 1}" for i in range(len(cells))]
    uneven = _uneven(body, separator, len(names)) if separator else None
    if separator == "," and len(names) <= 2 - header and _is_one_number_a_line(body, first, header=header):
        if not uneven and len(names) == 2:
            raise ValueError(
                f"Expected one reading of {name}: {_quoted(first)}, which may be one number with a decimal comma, or "
                "two columns. Write decimal points, or the names of the columns into the first line."
            )
        if uneven or header:
            return CsvFile(name, names[:1], body, "", header, gaps=False)
    if uneven:
        cells_here = _cells(uneven.text.count(separator.encode()) + 1)
        raise ValueError(
            f"Expected {_cells(len(names))} in every line of {name}, as in its first: {_quoted(uneven)}, {cells_here}. "
            "Write decimal points, and a name for each column."
        )
    return CsvFile(name, names, body, separator, header, gaps=_is_of_several_runs(names))


def _text(data: bytes, name: str) -> bytes:
    """The bytes as UTF-8 with "\\n" at the end of lines, and not too many of them."""
    if data.startswith(b"PK\x03\x04"):
        raise ValueError(f"Expected {name} as CSV or NPY, found a zip archive (NPZ or a spreadsheet): unpack it first.")
    if b"\x00" in data:
        raise ValueError(f"Expected {name} as CSV text or NPY, found binary data.")
    body = data.removeprefix(b"\xef\xbb\xbf")
    try:
        if not body.isascii():
            body.decode()
    except UnicodeDecodeError:
        raise ValueError(f"Expected {name} as CSV text in UTF-8 or NPY, found other bytes.") from None
    if name.lower().endswith(".npy"):
        raise ValueError(f"Expected {name} to be a NumPy array; it does not begin like one.")
    if b"\r" in body:
        body = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if b" \n" in body or body.endswith(b" "):
        body = re.sub(rb"(?m)^ +$", b"", body)
    if not body.strip():
        raise ValueError(f"Expected numbers in {name}, found an empty file.")
    check_rows(name, body.count(b"\n") + (not body.endswith(b"\n")), names=1)
    return body


def _filled(body: bytes) -> Iterator[_Line]:
    """The lines that are not empty."""
    for number, line in enumerate(io.BytesIO(body), 1):
        if text := line.removesuffix(b"\n"):
            yield _Line(number, text)


def _separator(first: bytes, second: bytes) -> str:
    """What separates cells, by the first two lines: what both hold equally often, else what the second holds most."""
    first, second = (re.sub(rb'"[^"]*"', b"", line) for line in (first, second))
    for separator in SEPARATORS:
        if 0 < first.count(separator.encode()) == second.count(separator.encode()):
            return separator
    line = second if any(separator.encode() in second for separator in SEPARATORS) else first
    separator = max(SEPARATORS, key=lambda one: line.count(one.encode()))
    return separator if separator.encode() in line else ""


def _unquoted(body: bytes, name: str, separator: str) -> bytes:
    """The same cells, without quotes and with `UNIT` between them; each stays in its line."""
    lines: list[str] = []
    reader = csv.reader(io.StringIO(body.decode(), newline=""), delimiter=separator)
    try:
        for cells in reader:
            lines.append(UNIT.join(cells).replace("\n", " "))
            lines += [""] * (reader.line_num - len(lines))
    except csv.Error:
        raise ValueError(f"Expected {name} as CSV text; its line {reader.line_num:,} cannot be read.") from None
    return "\n".join(lines).encode()


def _uneven(body: bytes, separator: str, cells: int) -> _Line | None:
    """The first line with other than so many cells; empty ones at its end do not count."""
    sign, lines_before, start = separator.encode(), 0, 0
    while start < len(body):
        end = body.find(b"\n", start + CHUNK)
        chunk = np.frombuffer(body, np.uint8, (end + 1 if end >= 0 else len(body)) - start, start)
        ends = np.append(np.flatnonzero(chunk == ord("\n")), [] if end >= 0 else [chunk.size]).astype(np.int64)
        counts = np.diff(np.searchsorted(np.flatnonzero(chunk == ord(separator)), ends), prepend=0)
        starts = np.concatenate(([0], ends[:-1] + 1))
        for row in np.flatnonzero((counts != cells - 1) & (ends > starts)):
            text = body[start + starts[row] : start + ends[row]]
            kept = text.rstrip(sign + b" ") if counts[row] >= cells else text
            if counts[row] < cells - 1 or kept.count(sign) >= cells:
                return _Line(lines_before + int(row) + 1, text)
        lines_before += ends.size
        start += chunk.size
    return None


def _are_names(cells: list[str]) -> bool:
    """Whether the first line holds the columns' names: no number, and not nothing."""
    return not any(_is_number(cell) for cell in cells) and any(cells)


def _is_one_number_a_line(body: bytes, first: _Line, *, header: bool) -> bool:
    """Whether each line, behind the header, is one number, and there are decimal commas."""
    return b"," in body and not NOT_ONE_NUMBER.search(body, body.index(first.text) + len(first.text) * header)


def _is_of_several_runs(names: list[str]) -> bool:
    """Whether the columns are a curve of each of several runs, as Weights & Biases exports them."""
    return names[0].lower() == "step" and any(WANDB_CURVE.fullmatch(one) for one in names[1:])


def _is_number(text: str) -> bool:
    for written in (text, text.replace(",", ".")):
        try:
            float(written)
        except ValueError:
            continue
        return True
    return False


def _unique(cells: list[str]) -> list[str]:
    """Names that tell columns apart: empty and repeated ones get their position, but for a first one: "index"."""
    names: list[str] = []
    for i, cell in enumerate(cells):
        given = cell or ("index" if i == 0 else "")
        names.append(given if given and given not in names else f"{given or 'column'} {i + 1}")
    return names


def _cells(count: int) -> str:
    return f"{count} cell{'s' if count > 1 else ''}"


def _quoted(line: _Line) -> str:
    return f"line {line.number:,} holds {line.text.decode().replace(UNIT, ',').strip()[:60]!r}"

"""Data sets as pages know them: a description without loading anything, and files with checksums. NumPy alone.

Files come from a folder of the user's, the system's, or a mirror. A file counts only if the SHA-256 of its uncompressed
bytes is the one written here, so it does not matter who packed it or how. What a mirror sends is kept, uncompressed, in
the first folder of `DataSet.folders`.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dpviz.training.files import whole_file
from dpviz.training.models import MODELS
from dpviz.training.words import refusal, words

Bytes = npt.NDArray[np.uint8]
_TIMEOUT = 20.0  # seconds to wait for a mirror


class DataUnavailable(RuntimeError):
    """A data set is in no known folder and no mirror could be reached; the message says where it was looked for."""


class Parts(NamedTuple):
    """Training and test examples: x float32 (n, c, h, w) or (n, features), y int64 (n,).

    `persons` says whose each training example is, (n,), where the data name persons.
    """

    train_x: npt.NDArray[np.float32]
    train_y: npt.NDArray[np.int64]
    test_x: npt.NDArray[np.float32]
    test_y: npt.NDArray[np.int64]
    persons: npt.NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of a data set.

    Attributes:
        name: Without ".gz".
        sha256: Of its uncompressed bytes.
        whole: The name is complete and the checksum that of the file as it lies: an archive that is read as it is.
        copies: Others with the same content in them, which are read where this one does not lie, and not fetched.
    """

    name: str
    sha256: str
    whole: bool = False
    copies: tuple[DataFile, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,) if self.whole else (self.name, f"{self.name}.gz")


@dataclass(frozen=True, eq=False, kw_only=True)
class DataSet:
    """A set that can be asked for by name; all but its examples is known before anything is loaded.

    Attributes:
        key, title: In settings and links; on pages.
        example: What several test examples are called.
        examples, test_examples: Sizes.
        persons: How many persons the training examples are of; 0 where the data do not name them.
        shape: Of one example; empty where that is not known.
        classes: Number of labels.
        note: Origin, licence, scaling.
        flips: Whether an example's mirror image is one of the same kind: of clothes, not of digits.
        files: Those that make it up, by role; empty where it needs none, and of one's own.
        mirrors: Addresses that hold `<file name>.gz`, or a whole file by its name, tried in order.
        system_folder: Where the package or a distribution's puts the files, if one does.
        package_hint: How to get the set without these mirrors, for the error message.
        part_of: The key of the set that its examples are taken from; empty where they are its own.
        usual: Settings with which it trains well, whatever the model.
        reader: Reads its examples, from files in a folder of the user's where it needs any; None of one's own (`own`).
        extends: The set to whose training examples it adds its own.
        mean, std: Published, of pixels on [0, 1]: one number, or one a channel.
        columns, most, target: Of a table, see `formats.parse_table`.
    """

    key: str
    title: str
    example: str
    examples: int = 0
    test_examples: int = 0
    persons: int = 0
    shape: tuple[int, ...] = ()
    classes: int = 0
    note: str = ""
    flips: bool = False
    files: Mapping[str, DataFile] = field(default_factory=dict)
    mirrors: tuple[str, ...] = ()
    system_folder: str | None = None
    package_hint: str = ""
    part_of: str = ""
    usual: Mapping[str, Any] = field(default_factory=dict)
    reader: Callable[[DataSet, str | Path | None], Parts] | None = None
    extends: DataSet | None = None
    mean: float | tuple[float, ...] = 0.0
    std: float | tuple[float, ...] = 1.0
    columns: tuple[Mapping[str, Any], ...] = ()
    most: float = float("inf")
    target: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parameters(self) -> dict[str, int]:
        """The numbers of parameters by model that can read it."""
        if not self.shape:
            return {}
        fitting = {key: model for key, model in MODELS.items() if model.suits(self.shape)}
        return {key: model.parameters(self.shape, self.classes) for key, model in fitting.items()}

    def read(self, folder: str | Path | None = None) -> Parts:
        """Its examples.

        Raises:
            ValueError: for a file with the wrong checksum: it is not silently replaced.
            DataUnavailable: if a file is in no folder and no mirror gave the right bytes.
        """
        assert self.reader is not None
        return self.reader(self, folder)

    def fetched(self, folder: str | Path | None) -> dict[str, bytes]:
        """The uncompressed bytes of each of its files, by role: always those of the checksum."""
        return {role: self._fetched(file, self.folders(folder)) for role, file in self.files.items()}

    def folders(self, folder: str | Path | None = None) -> list[Path]:
        """Where its files may lie, first the one that downloads are kept in.

        `folder`, else DPVIZ_DATA, else the user's cache folder; with and without a folder of the set's name in it.
        """
        chosen = folder or os.environ.get("DPVIZ_DATA")
        root = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dpviz"
        return [root / self.key, root, *([Path(self.system_folder)] if self.system_folder else [])]

    def missing(self, folder: str | Path | None = None) -> bool:
        """Whether one of its files would have to be fetched."""
        return not all(_lying(file, self.folders(folder)) for file in self.files.values())

    def _fetched(self, wanted: DataFile, places: list[Path]) -> bytes:
        """One file: from a folder if it or a copy is there, else from a mirror."""
        if file_here := _lying(wanted, places):
            return _read(*file_here)
        failures = []
        for mirror in self.mirrors:
            address = f"{mirror}{wanted.names[-1]}"
            try:
                with urllib.request.urlopen(address, timeout=_TIMEOUT) as answer:
                    raw = answer.read() if wanted.whole else gzip.decompress(answer.read())
            except (OSError, EOFError, zlib.error, urllib.error.URLError) as error:
                failures.append(f"{address} ({error})")
                continue
            if hashlib.sha256(raw).hexdigest() == wanted.sha256:
                with suppress(OSError), whole_file(places[0] / wanted.name) as kept:  # a full disk loses only the copy
                    kept.write(raw)
                return raw
            failures.append(f"{address} (wrong checksum)")
        hint = f" ({self.package_hint})" if self.package_hint else ""
        names, folders, tries = " or ".join(wanted.names), ", ".join(map(str, places)), "; ".join(failures)
        facts = {"names": names, "folders": folders, "tries": tries or "none known", "hint": hint}
        raise DataUnavailable(words("data_nowhere", key=self.key, **facts))

    def scaled(self, train: tuple[Bytes, Bytes], test: tuple[Bytes, Bytes]) -> Parts:
        """Images (n, c, h, w) and labels of both parts for a network: on [0, 1], less `mean`, over `std`."""
        mean, std = (np.asarray(number, dtype=np.float32).reshape(-1, 1, 1) for number in (self.mean, self.std))

        def numbers(images: Bytes) -> npt.NDArray[np.float32]:
            x = images.astype(np.float32)
            x /= np.float32(255.0)
            x -= mean
            x /= std
            return x

        return Parts(numbers(train[0]), train[1].astype(np.int64), numbers(test[0]), test[1].astype(np.int64))


def _lying(wanted: DataFile, places: list[Path]) -> tuple[Path, DataFile] | None:
    """Where a file or a copy of it lies, and which of them it is."""
    paths = ((place / name, file) for file in (wanted, *wanted.copies) for place in places for name in file.names)
    return next(((path, file) for path, file in paths if path.is_file()), None)


def _read(path: Path, wanted: DataFile) -> bytes:
    raw = path.read_bytes()
    if path.suffix == ".gz" and not wanted.whole:
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"Expected {path} to be a gzip file: {error}. Delete it and try again.") from None
    digest = hashlib.sha256(raw).hexdigest()
    if digest != wanted.sha256:
        raise refusal("data_checksum", path=path, wanted=wanted.sha256, digest=digest)
    return raw

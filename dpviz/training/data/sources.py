"""Where whole data sets come from: a folder of the user's, the system's, or a mirror; always against a checksum.

A file counts only if the SHA-256 of its uncompressed bytes is the one written here, so it does not matter who
packed it or how. What a mirror sends is kept, uncompressed, in the first folder of `folders`.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import urllib.error
import urllib.request
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dpviz.training.files import whole_file


class DataUnavailable(RuntimeError):
    """A data set is in no known folder and no mirror could be reached; the message says where it was looked for."""


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


@dataclass(frozen=True, slots=True)
class DataSource:
    """One data set.

    Attributes:
        name: Folder name and key.
        files: The files that make it up, keyed by role.
        mirrors: Addresses that hold `<file name>.gz`, or a whole file by its name, tried in order.
        system_folder: Where a distribution's package puts the files, if one does.
        package_hint: How to get the set without these mirrors, for the error message.
    """

    name: str
    files: dict[str, DataFile]
    mirrors: tuple[str, ...]
    system_folder: str | None = None
    package_hint: str = ""


# What is shipped lies beside this file, with its licences.
SHIPPED = str(Path(__file__).parent)


def folders(source: DataSource, folder: str | Path | None = None) -> list[Path]:
    """Where the files of `source` may lie, first the one that downloads are kept in.

    `folder`, else DPVIZ_DATA, else the user's cache folder; with and without a folder of the set's name in it.
    """
    chosen = folder or os.environ.get("DPVIZ_DATA")
    root = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dpviz"
    places = [root / source.name, root]
    if source.system_folder is not None:
        places.append(Path(source.system_folder))
    return places


def lying(wanted: DataFile, places: list[Path]) -> tuple[Path, DataFile] | None:
    """Where a file or a copy of it lies, and which of them it is."""
    for file in (wanted, *wanted.copies):
        for place in places:
            for path in (place / name for name in file.names):
                if path.is_file():
                    return path, file
    return None


def fetch(source: DataSource, role: str, folder: str | Path | None = None, timeout: float = 20.0) -> bytes:
    """The uncompressed bytes of one file: from a folder if it or a copy is there, else from a mirror.

    Args:
        source: The data set.
        role: Which of its files, a key of `source.files`.
        folder: Folder to look in first and to keep downloads in; see `folders`.
        timeout: Seconds to wait for a mirror.

    Raises:
        ValueError: if a file of the right name in a folder has another checksum: it is not silently replaced.
        DataUnavailable: if no folder has the file and no mirror gave the right bytes.
    """
    wanted = source.files[role]
    places = folders(source, folder)
    if file_here := lying(wanted, places):
        return _read(*file_here)
    failures = []
    for mirror in source.mirrors:
        address = f"{mirror}{wanted.names[-1]}"
        try:
            with urllib.request.urlopen(address, timeout=timeout) as answer:
                raw = answer.read() if wanted.whole else gzip.decompress(answer.read())
        except (OSError, EOFError, zlib.error, urllib.error.URLError) as error:
            failures.append(f"{address} ({error})")
            continue
        if hashlib.sha256(raw).hexdigest() == wanted.sha256:
            with suppress(OSError), whole_file(places[0] / wanted.name) as kept:  # a full disk loses only the copy
                kept.write(raw)
            return raw
        failures.append(f"{address} (wrong checksum)")
    raise DataUnavailable(_unavailable(source, wanted, places, failures))


def _read(path: Path, wanted: DataFile) -> bytes:
    raw = path.read_bytes()
    if path.suffix == ".gz" and not wanted.whole:
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"Expected {path} to be a gzip file: {error}. Delete it and try again.") from None
    digest = hashlib.sha256(raw).hexdigest()
    if digest != wanted.sha256:
        raise ValueError(
            f"Expected {path} to have the SHA-256 {wanted.sha256} uncompressed, found {digest}: "
            "it is another or a damaged file. Delete it and try again."
        )
    return raw


def _unavailable(source: DataSource, wanted: DataFile, places: list[Path], failures: list[str]) -> str:
    hint = f" ({source.package_hint})" if source.package_hint else ""
    return (
        f"{source.name} is not here: {' or '.join(wanted.names)} is in none of {', '.join(map(str, places))}, and no "
        f"mirror answered: {'; '.join(failures) or 'none known'}. Put the files into a folder{hint} and name it in "
        "DPVIZ_DATA, or use the shipped MNIST subset."
    )

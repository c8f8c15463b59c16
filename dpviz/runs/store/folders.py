"""Folders and files of the run store, readable by their owner alone whatever the umask says."""

import errno
import os
import stat
import sys
import threading
from contextlib import suppress
from pathlib import Path

from dpviz.runs.store.records import StoreError

FOLDER = 0o700
FILE = 0o600

_making = threading.Lock()


def home() -> Path:
    """Where runs are kept: DPVIZ_HOME, else the folder for users' data of this system.

    Raises:
        StoreError: if DPVIZ_HOME cannot name a folder.
    """
    chosen = os.environ.get("DPVIZ_HOME")
    if chosen:
        try:
            if "\0" in chosen:
                raise ValueError("a name holds no NUL")
            return Path(chosen).expanduser()
        except (ValueError, RuntimeError) as error:  # RuntimeError: "~name" of an account that is not there
            raise StoreError(f"Expected DPVIZ_HOME={chosen!r} to be the name of a folder: {error}.") from error
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "dpviz"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "dpviz"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "dpviz"


def private_folder(folder: Path) -> None:
    """Create a folder with its parents that only its owner may enter; the mode of an existing one is restricted."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=FOLDER, exist_ok=True)
    tighten(folder, FOLDER)


def scratch_folder(log: Path) -> Path:
    """The folder beside a log for temporary files of ours: in the shared one another account may have come first.

    Raises:
        PermissionError: if it is a link or another account's.
    """
    folder = log.parent / "scratch"
    private_folder(folder.parent)
    with suppress(FileExistsError):
        folder.mkdir(mode=FOLDER)
    state = folder.lstat()
    if not stat.S_ISDIR(state.st_mode) or (hasattr(os, "geteuid") and state.st_uid != os.geteuid()):
        raise PermissionError(
            f"Expected {folder} to be a folder of your own, not a link or another account's: remove it."
        )
    folder.chmod(FOLDER)
    return folder


def private_file(file: Path) -> None:
    """Create an empty file that only its owner may read and write; the mode of an existing one is restricted.

    One that is there is never opened: to close it again would end every lock that this process has on it (POSIX), and
    SQLite elsewhere would take the file for nobody's. Threads that make it at once wait for each other.
    """
    only_a_file(file)
    with _making, suppress(FileExistsError):
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE))
    tighten(file, FILE)


def only_a_file(path: Path) -> None:
    """OSError if the path is not a plain file: opening a pipe or a device would wait."""
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError(errno.EINVAL, f"{path.name} is no plain file: move it away")


def tighten(path: Path, mode: int) -> None:
    """Remove permissions beyond `mode`. Files of another owner remain unchanged."""
    with suppress(OSError):
        now = stat.S_IMODE(path.stat().st_mode)
        if now & ~mode:
            path.chmod(now & mode)


def private_home(folder: Path, ours: tuple[str, ...]) -> None:
    """`private_folder` for the folder of the store. One that holds more than names beginning like `ours` was there
    before us, a home folder perhaps: it stays open as it is, and only what is ours in it is closed."""
    if not folder.exists() or all(entry.name.startswith(ours) for entry in folder.iterdir()):
        private_folder(folder)

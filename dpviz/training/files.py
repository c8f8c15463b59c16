"""Atomic writes: files that appear whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def whole_file(path: Path) -> Iterator[Any]:
    """A binary file to write into, beside `path` and renamed at the end; gone again where something raises.

    Raises:
        OSError: where there is no room or no permission.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as partial:
        try:
            yield partial
            partial.close()
            os.replace(partial.name, path)
        except BaseException:
            Path(partial.name).unlink(missing_ok=True)
            raise

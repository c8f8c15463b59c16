"""Imports of optional packages, which name the missing extra: the core needs numpy and scipy alone.

with extra("ask"):
    import plotly
"""

from collections.abc import Iterator
from contextlib import contextmanager


class MissingExtra(ImportError):
    """A package that an extra of dpviz brings is not installed; the message says which extra."""


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Import inside what the extra of that `name` brings (pyproject.toml lists them).

    Raises:
        MissingExtra: in place of Python's word that there is no such module.
    """
    try:
        yield
    except ModuleNotFoundError as missing:
        package = (missing.name or str(missing)).partition(".")[0]
        if package == "dpviz":
            raise
        raise MissingExtra(f"This needs {package}, which is not installed; it comes with dpviz[{name}].") from missing

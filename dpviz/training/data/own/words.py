"""A description's entries, typed: what is missing, of another type or unknown is refused with its name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class NotADataSet(ValueError):
    """A description or a file of data cannot be used; the message says which, where in it, and what would do.

    It names lines and columns and never a value that stands there: that may be private, and runs are passed on.
    """


class Table:
    """One table of a description.

    Args:
        where: What messages call it ("heart.toml, [train]").
        found: Its entries.
    """

    def __init__(self, where: str, found: dict[str, Any]) -> None:
        self.where, self.found = where, found

    def refuse(self, expected: str) -> NotADataSet:
        return NotADataSet(f"{self.where}: expected {expected}.")

    def only(self, known: Iterable[str]) -> None:
        """Refuses names that mean nothing here, for they are typing errors."""
        unknown = sorted(set(self.found) - set(known))
        if unknown:
            raise self.refuse(f"only {', '.join(known)}, found {unknown[0][:60]!r}")

    def text(self, name: str, default: str | None = None, *, longest: int = 200) -> str:
        value = self.found.get(name, default)
        if not isinstance(value, str) or not 0 < len(value) <= longest or not value.isprintable():
            raise self.refuse(f"{name} = a text of 1 to {longest} characters")
        return value

    def whole(self, name: str, low: int, high: int, default: int | None = None) -> int:
        value = self.found.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.refuse(f"{name} = a whole number from {low:,} to {high:,}")
        return value

    def flag(self, name: str) -> bool:
        value = self.found.get(name, False)
        if not isinstance(value, bool):
            raise self.refuse(f"{name} = true or false")
        return value

    def number(self, name: str) -> float:
        (value,) = self._numbers(name, [self.found.get(name)])
        return value

    def numbers(self, name: str, length: int) -> tuple[float, ...]:
        """One number for all, or a list of `length`; always `length` numbers."""
        value = self.found.get(name)
        if not isinstance(value, list):
            return self._numbers(name, [value]) * length
        if len(value) != length:
            raise self.refuse(f"{name} = one number or a list of {length}, found a list of {len(value)}")
        return self._numbers(name, value)

    def _numbers(self, name: str, values: list[Any]) -> tuple[float, ...]:
        for value in values:
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= 1e30:
                raise self.refuse(f"{name} = a number, at most 1e30 in size")
        return tuple(map(float, values))

    def names(self, name: str, least: int, most: int) -> tuple[str, ...]:
        """A list of different texts; whole numbers stand for their digits."""
        value = self.found.get(name)
        if not isinstance(value, list) or not least <= len(value) <= most:
            raise self.refuse(f"{name} = a list of {least} to {most:,} names")
        for one in value:
            if isinstance(one, bool) or not isinstance(one, (str, int)) or len(str(one)) > 200:
                raise self.refuse(f"{name} to hold texts or whole numbers, none longer than 200 characters")
        found = tuple(map(str, value))
        if len(set(found)) != len(found):
            raise self.refuse(f"{name} to hold each name once")
        return found

    def table(self, name: str) -> Table:
        value = self.found.get(name)
        if not isinstance(value, dict):
            raise self.refuse(f"a table [{name}]")
        inside = self.where.endswith("]")
        return Table(f"{self.where[:-1]}.{name}]" if inside else f"{self.where}, [{name}]", value)

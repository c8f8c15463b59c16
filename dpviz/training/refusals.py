"""Settings that cannot work together, refused in the words of `refusals.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any

_WORDS = tomllib.loads((resources.files("dpviz.training") / "refusals.toml").read_text(encoding="utf-8"))


def refuse(table: str, broken: Mapping[str, object], **facts: Any) -> None:
    """Refuse by the first rule of the table that is broken.

    Raises:
        ValueError: in the rule's words about the facts: the setting, its value and the way out.
    """
    for rule, is_broken in broken.items():
        if is_broken:
            raise ValueError(_WORDS[table][rule].format(**facts))

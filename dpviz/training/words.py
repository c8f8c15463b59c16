"""The words of a package's `words.toml`, filled in with facts."""

import tomllib
from importlib import resources
from typing import Any


class Sentences:
    """The sentences of the package that is named, by table and key."""

    def __init__(self, package: str) -> None:
        self.tables = tomllib.loads((resources.files(package) / "words.toml").read_text(encoding="utf-8"))

    def __call__(self, table: str, key: str, /, **facts: Any) -> str:
        """The sentence `key` of a table; a layer without a name is the network itself, a dtype is told in short."""
        if "layer" in facts:
            facts["layer"] = facts["layer"] or "network"
        if "dtype" in facts:
            facts["dtype"] = str(facts["dtype"]).removeprefix("torch.")
        text: str = self.tables[table][key].format(**facts)
        return text


words = Sentences("dpviz.training")


class Refusal(ValueError):
    """What cannot work, in words that name it and the way out."""


def refusal(key: str, /, **facts: Any) -> Refusal:
    """What cannot work, as an error that names it and the way out."""
    return Refusal(words("refusals", key, **facts))


def way_out(error: str) -> str:
    """What may be done about an error of PyTorch with this text."""
    return next(str(way) for part, way in words.tables["ways_out"].items() if part in error)

"""The sentences of `words.toml`, filled in with facts."""

import tomllib
from importlib import resources

_TABLES: dict[str, dict[str, str]] = tomllib.loads(
    (resources.files("dpviz.training") / "words.toml").read_text(encoding="utf-8")
)


def words(key: str, /, **facts: object) -> str:
    """The sentence of a refusal; a layer without a name is the network itself, a dtype is told in short."""
    if "layer" in facts:
        facts["layer"] = facts["layer"] or "network"
    if "dtype" in facts:
        facts["dtype"] = str(facts["dtype"]).removeprefix("torch.")
    return _TABLES["refusals"][key].format_map(facts)


class Refusal(ValueError):
    """What cannot work, in words that name it and the way out."""


def refusal(key: str, /, **facts: object) -> Refusal:
    """What cannot work, as an error that names it and the way out."""
    return Refusal(words(key, **facts))


def way_out(error: str) -> str:
    """What may be done about an error of PyTorch with this text."""
    return next(way for part, way in _TABLES["ways_out"].items() if part in error)

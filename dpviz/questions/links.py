"""Links: how they are written and read.

A link leaves out what is at its default, so it names the version whose defaults it leaves out: `v`. Version 3 is the
first that is supported; a link without a version has today's defaults.
"""

from collections.abc import Iterable, Mapping
from urllib.parse import urlencode

from dpviz.questions.catalogue import PAGES

VERSION = "v"
TODAY = "3"
ENTERED = "entered"  # an entry that no link has yet: its time, field, whether its text is exact, and the text
PRESETS = {preset.key: preset for page in PAGES for preset in page.presets}


def written(texts: Iterable[tuple[str, str]]) -> str:
    """The query string of a link that says these pairs of key and text."""
    pairs = list(texts)
    return urlencode([*pairs, (VERSION, TODAY)] if pairs else [])


def address(place: str) -> str:
    """A page, or a page and what a link says there, as a link."""
    return f"{place}&{VERSION}={TODAY}" if "?" in place else place


def read(link: Mapping[str, str]) -> dict[str, str]:
    """What a link says, by the keys of fields, with what its preset says; nothing where its version is refused."""
    if refusal(link):
        return {}
    texts = {key: text for key, text in link.items() if key != VERSION}
    preset = PRESETS.get(texts.get("preset", ""))
    return (preset.values if preset else {}) | texts


def refusal(link: Mapping[str, str]) -> str:
    """Why a link's version is not read; empty where it is."""
    version = link.get(VERSION, TODAY)
    if version == TODAY:
        return ""
    return (
        f"This link has version “{version[:40]}”: it was made by an unreleased version of dpviz, and is not read. The "
        f"page shows its defaults. Links of today have v={TODAY}."
    )

"""Links: how they are written and read.

A link leaves out what is at its default, so it names the version whose defaults it leaves out: `v`. Version 3 is the
first that is supported; a link without a version has today's defaults.

A question with a published setting at which it opens (`Question.opens`) has that as its default where a link says the
question and nothing else. A link to the same question at the shared defaults says `preset=`, none.

>>> read({"bview": "policy"})["preset"], written([("bview", "policy")])
('fo1assumed', 'bview=policy&preset=&v=3')
"""

from collections.abc import Iterable, Mapping
from urllib.parse import urlencode

from dpviz.questions.catalogue import PAGES
from dpviz.questions.presets import Preset

VERSION = "v"
TODAY = "3"
ENTERED = "entered"  # an entry that no link has yet: its time, field, whether its text is exact, and the text
PRESET = "preset"
SILENT = {VERSION, ENTERED, "present", "embed", "expert"}  # what says nothing of a question's settings
PRESETS = {preset.key: preset for page in PAGES for preset in page.presets}


def written(texts: Iterable[tuple[str, str]]) -> str:
    """The query string of a link that says these pairs of key and text."""
    pairs = list(texts)
    pairs += [(PRESET, "")] * (opening(dict(pairs)) is not None)
    return urlencode([*pairs, (VERSION, TODAY)] if pairs else [])


def opening(texts: Mapping[str, str]) -> Preset | None:
    """The published setting at which a question opens that a link names alone; None where it says more, or has none."""
    named = texts.keys() - SILENT
    for page in PAGES:
        if named == {page.view}:
            return next((one.opens for one in page.questions if one.asked_as == texts[page.view]), None)
    return None


def at_defaults(texts: Mapping[str, str]) -> dict[str, str]:
    """The same state in a link that opens no published setting."""
    return {**texts, PRESET: ""} if opening(texts) else dict(texts)


def address(place: str) -> str:
    """A page, or a page and what a link says there, as a link."""
    return f"{place}&{VERSION}={TODAY}" if "?" in place else place


def read(link: Mapping[str, str]) -> dict[str, str]:
    """What a link says, by the keys of fields, with what its preset says; nothing where its version is refused."""
    if refusal(link):
        return {}
    texts = {key: text for key, text in link.items() if key != VERSION}
    if opens := opening(texts):
        texts[PRESET] = opens.key
    preset = PRESETS.get(texts.get(PRESET, ""))
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

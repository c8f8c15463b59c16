"""Links: how they are written, and what one of an earlier version means.

A link leaves out what is at its default, so it needs the defaults of its time: `v` says whose. One without it is of
version 1; before version 3, some pages had keys of their own for what is now one setting of all pages. Fields that had
another key, or another default, say so in their tables (`was`, `key`, `before`). What names no setting (a bare address)
is no link of any time: it opens with today's defaults.
"""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from dpviz.accounting.adaptive.policies import POLICIES, Fixed
from dpviz.fields import Field
from dpviz.fields.declared import entries
from dpviz.questions.catalogue import PAGES
from dpviz.questions.layout import of_texts

VERSION = "v"
TODAY = "3"
ENTERED = "entered"  # an entry that no link has yet: its time, field, whether its text is exact, and the text
PRESETS = {preset.key: preset for page in PAGES for preset in page.presets}

# Words of a link that are no settings: how the page is shown, and who may open it.
_MODES = frozenset({VERSION, "run", "present", "embed", "expert", "token", ENTERED})

# Key of a field in earlier links → today's.
RENAMED: Mapping[str, str] = {entry["was"]: key for key, entry in entries().items() if "was" in entry}

# Field's key → what a link of version 1 meant where it did not name the field.
BEFORE: Mapping[str, str] = {key: entry["before"] for key, entry in entries().items() if "before" in entry}

_VARIED = PRESETS["abadi2"].values | {"amp": "exact", "curves": "moments.renyi_improved.tight"}
_WIDE = {"steps": "100", "noisefrom": "0.2", "noiseto": "5"}
# Key of a preset that there is no more → what it set.
GONE: Mapping[str, dict[str, str]] = {
    **{
        f"bdp1{panel}": PRESETS["bdpfig1"].values | {"quantile": quantile}
        for panel, quantile in zip("abcd", ("0.05", "0.25", "0.75", "0.95"), strict=True)
    },
    "abadi2laplace": _VARIED | {"mech": "laplace", "b": "2.8284271247461903"},
    "abadi2replace": _VARIED | {"mech": "replace"},
    "bdp3": PRESETS["bdpfig3"].values | _WIDE,
    "bdp4": PRESETS["bdpfig4"].values | _WIDE,
}


def written(texts: Iterable[tuple[str, str]]) -> str:
    """The query string of a link of today that says these pairs of key and text."""
    pairs = list(texts)
    return urlencode([*pairs, (VERSION, TODAY)] if pairs else [])


def address(place: str) -> str:
    """A page, or a page and what a link of today says there, as a link of today."""
    return f"{place}&{VERSION}={TODAY}" if "?" in place else place


def read(link: Mapping[str, str], page: str = "", more: Iterable[Field[Any]] = ()) -> dict[str, str]:
    """What a link says, by the keys of today's fields, with what it left to its preset and to the defaults of its time.

    `page` is the key of the page that it opens; only fields of its question have defaults of another time, and `more`.
    """
    texts, old = {key: text for key, text in link.items() if key != VERSION}, version(link)
    if old == "1":
        texts = _renewed(texts, page)
    texts, beneath = renamed(texts), {}
    if (preset := texts.get("preset", "")) in GONE:
        beneath = GONE[texts.pop("preset")]
    elif preset in PRESETS:
        beneath = PRESETS[preset].values
    fields = [*more, *_asked(beneath | texts, page)]
    if old in ("1", "2"):
        texts, beneath = _shared(texts, fields), _meant(beneath, preset, page, fields)
    keys = {field.key for field in fields} if old == "1" else set()
    return {key: text for key, text in BEFORE.items() if key in keys} | beneath | texts


def version(link: Mapping[str, str]) -> str:
    """Whose defaults it leaves out."""
    return link.get(VERSION, TODAY if link.keys() <= _MODES else "1")


def _asked(texts: Mapping[str, str], page: str) -> list[Field[Any]]:
    """The fields of the question that a page with this key asks then."""
    return [field for shown in PAGES if shown.key == page for field in shown.question(of_texts(texts)).fields]


def odd(link: Mapping[str, str], page: str = "") -> list[str]:
    """What must be said of a version that there is not, and of today's keys where those of an earlier one are read."""
    if (named := version(link)) in ("1", "2"):
        return [
            f"{field.label}: “{field.key}={link[field.key][:40]}” was left out. A link without v={TODAY} is an old "
            f"one, where this page calls it “{field.earlier}”: add &v={TODAY}, or set it here."
            for field in _asked(link, page)
            if field.earlier and field.key in link and field.earlier not in link
        ]
    if named == TODAY:
        return []
    return [
        f"Version of the link: “{named[:40]}” is not 1, 2 or {TODAY}. The link was read as version {TODAY}, the newest."
    ]


def _shared(texts: Mapping[str, str], fields: Iterable[Field[Any]]) -> dict[str, str]:
    """What a link says in which these fields had keys of their own: today's key was another page's."""
    own = {field.earlier: field.key for field in fields if field.earlier}
    others = {key: text for key, text in texts.items() if key not in {*own, *own.values()}}
    return others | {key: texts[earlier] for earlier, key in own.items() if earlier in texts}


def _meant(values: Mapping[str, str], preset: str, page: str, fields: Iterable[Field[Any]]) -> dict[str, str]:
    """Those of a preset's values that meant these fields: on another page than the preset's, keys were others."""
    offering = [shown for shown in PAGES if PRESETS.get(preset) in shown.presets]
    own = {field.key: field.earlier for field in fields}
    there = {one.key: one.earlier for shown in offering for question in shown.questions for one in question.fields}
    here = page in [shown.key for shown in offering]
    return {key: text for key, text in values.items() if here or own.get(key, "") == there.get(key, "")}


def _renewed(texts: Mapping[str, str], page: str) -> dict[str, str]:
    """What a link of version 1 to a page says, in today's words."""
    renewed = dict(texts)
    fixed = renewed.pop("lamfix", "16")  # it counted where λ was fixed
    if renewed.get("lam") == "fixed":
        renewed["lam"] = fixed
    if page == "papers" and "dmu" in renewed:
        renewed["gdmu"] = renewed.pop("dmu")
    if "t_seed" in renewed:  # a run that named its seed drew its noise from it, unless the link said otherwise
        renewed.setdefault("t_secure", "0")
    return renewed


def renamed(texts: Mapping[str, str]) -> dict[str, str]:
    """What a link says, by today's keys."""
    renewed = dict(texts)
    # A budget and a goal had switches of their own; a policy that ends at a goal always has one.
    policy = POLICIES.get(renewed.get("t_policy", ""), Fixed)
    budget, goal = (renewed.pop(key, "0") == "1" for key in ("t_bud", "t_goal"))
    goal = goal or (policy.ends and "t_target_accuracy" not in renewed)
    for key, on, usual in (("t_budget", budget, "3"), ("t_acc", goal, "0.93")):
        entered = renewed.pop(key, usual)
        if on:
            renewed[key] = entered
    rows = renewed.pop("rows", "2")  # they counted with a mechanism of their own
    if renewed.get("mech") == "person":
        renewed |= {"mech": "gaussian", "persons": rows}
    if renewed.get("ksampler") == "same":
        renewed["ksampler"] = "partition"
    if renewed.get("t_eval") == "0":
        del renewed["t_eval"]
    return {RENAMED.get(key, key): text for key, text in renewed.items()}

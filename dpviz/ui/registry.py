"""Every field of every page: one namespace in the URL and in the session."""

from __future__ import annotations

from typing import Any

from dpviz.ui import mechanism, sources
from dpviz.ui.compose import settings
from dpviz.ui.fields import Choice, Field
from dpviz.ui.presets import PRESETS

PRESET = Choice(
    key="preset", label="Preset", default="", options={"": "none"} | {preset.key: preset.name for preset in PRESETS}
)

FIELDS: tuple[Field[Any], ...] = (*mechanism.FIELDS, *settings.OWN_FIELDS, *sources.FIELDS)

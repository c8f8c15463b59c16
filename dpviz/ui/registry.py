"""Every field and every preset of every page: one namespace in the URL and in the session."""

from dpviz.fields.field import AnyField, Choice
from dpviz.questions import mechanism
from dpviz.questions.presets import Preset
from dpviz.questions.units import EPOCHS, UNITS
from dpviz.ui import offered
from dpviz.ui.offered import PAGES

# Page key → the presets its sidebar offers.
PRESETS: dict[str, tuple[Preset, ...]] = {page.key: page.presets for page in PAGES}

PRESET = Choice(
    key="preset",
    label="Preset",
    default="",
    options={"": "none"} | {preset.key: preset.name for several in PRESETS.values() for preset in several},
)

FIELDS: tuple[AnyField, ...] = (
    *mechanism.FIELDS,
    *(field for page in PAGES for field in page.fields),
    EPOCHS,
    UNITS,
)
FIELDS = tuple(map(offered.field, FIELDS))
SHARED = {field.key: field for field in FIELDS if field.entry in ("", field.key)}
FIELDS = tuple(({field.key: field for field in FIELDS} | SHARED).values())

# Page key → the same fields, those that it declares for itself as it does: with its own default, for one.
OF_PAGE: dict[str, tuple[AnyField, ...]] = {
    page.key: tuple({field.key: field for field in (*FIELDS, *map(offered.field, page.fields))}.values())
    for page in PAGES
}


# Page key → the fields that decide what it shows: what "Reset this page" resets. All of the mechanism, a batch's N too,
# where any of it is asked for.
OWN: dict[str, tuple[AnyField, ...]] = {
    page.key: (
        *(mechanism.FIELDS if mechanism.RATE in page.fields else ()),
        *map(offered.field, page.fields),
        PRESET,
    )
    for page in PAGES
} | {"home": mechanism.FIELDS, "lecture": mechanism.FIELDS}

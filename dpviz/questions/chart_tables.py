"""Charts as tables: `[KEY.chart]` of a room's words has a question's axes and lines, its function their numbers.

`x` and `y` hold the attributes of an `Axis`, `lines` those of each `Line` by its key, and what else stands there is of
the `LinePlot`. `color` is a name in `look`, `family` SOLID where the line is no accountant's, and `write` what a filter
of the words does, "up(4)" say.
"""

from collections.abc import Mapping
from typing import Any

from dpviz.charts import Axis, Line, LinePlot, Numbers, look
from dpviz.questions.words import expression, tables_of


def chart(
    room: str,
    key: str,
    x: Numbers,
    curves: Mapping[str, Any],
    x_axis: Mapping[str, Any] = {},
    y_axis: Mapping[str, Any] = {},
    **more: Any,
) -> LinePlot:
    """The plot of a question.

    Args:
        room, key: of its words.
        x: of all curves, shape (n,).
        curves: key of a line → its y, shape (n,), or its attributes, in their order.
        x_axis, y_axis: attributes of the axes.
        more: attributes of the plot. All three stand above what the table says.
    """
    table = dict(tables_of(room)[key]["chart"])
    styles = table.pop("lines", {})
    axes = [Axis(**{**attributes(table.pop(name)), **own}) for name, own in (("x", x_axis), ("y", y_axis))]
    lines = []
    for name, curve in curves.items():
        own = dict(curve) if isinstance(curve, Mapping) else {"y": curve}
        lines.append(Line(**{"key": name, "x": x, "family": look.SOLID} | attributes(styles.get(name, {})) | own))
    return LinePlot(axes[0], axes[1], tuple(lines), **table | more)


def style(room: str, key: str, line: str) -> dict[str, Any]:
    """What the table says of a line, for marks that go with it."""
    return {"family": look.SOLID} | attributes(tables_of(room)[key]["chart"]["lines"][line])


def attributes(table: Mapping[str, Any]) -> dict[str, Any]:
    """What a table says, as an axis or a line takes it."""
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in table.items()}
    if "color" in values:
        values["color"] = getattr(look, values["color"])
    if "write" in values:
        written = expression(f"value|{values['write']}")
        values["write"] = lambda value: str(written(value=value))
    return values

"""Fields that several pages use and that belong to none."""

from __future__ import annotations

from dpviz.ui.fields import Choice

IMAGE = Choice(
    key="image",
    label="Image format of the camera button",
    default="png",
    options={"png": "PNG", "svg": "SVG"},
    help="What the camera above the chart saves.",
)

"""What Plotly may do around a chart: few buttons, and a download that is named and sharp."""

from __future__ import annotations

import re
from typing import Any

from dpviz import _validate

# Few buttons, and none that sends the chart to Plotly's servers.
REMOVED = ["pan2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "select2d", "lasso2d", "sendChartToCloud"]


def export_config(*, filename: str = "dpviz", image_format: str = "png", scale: float = 2) -> dict[str, Any]:
    """The `config` of a Plotly chart.

    Args:
        filename: name of the downloaded image, without ending; what file systems dislike becomes "-".
        image_format: "png" or "svg".
        scale: pixels of the image per pixel of the screen, > 0.

    Raises:
        ValueError: another image format, or a scale that is not positive.
    """
    _validate.choice("image_format", image_format, ("png", "svg"))
    factor = _validate.scalar("scale", _validate.positive("scale", scale))
    clean = re.sub(r"[^\w.=+-]+", "-", filename).strip("-.") or "dpviz"
    return {
        "displaylogo": False,
        "modeBarButtonsToRemove": REMOVED,
        "toImageButtonOptions": {"format": image_format, "filename": clean[:120], "scale": factor},
    }

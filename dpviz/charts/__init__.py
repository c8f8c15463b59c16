"""Plotly figures from plain arrays: no Streamlit, no arithmetic on privacy.

>>> line = Line(key="ma", name="Moments", x=[1, 100], y=[0.8, 1.2], family="moments")
>>> chart = line_figure([line], x_title="steps T", y_title="ε", log_x=True, x_kind="steps")
>>> chart.figure["layout"]["xaxis"]["type"], chart.notes
('log', ())
"""

from dpviz.charts.alt import alt_text
from dpviz.charts.export import export_config
from dpviz.charts.histogram import Mark, distance_histogram
from dpviz.charts.lines import Chart, line_figure
from dpviz.charts.marks import Band, Column, Floor, Line, Point, Region
from dpviz.charts.mini import mini_line

__all__ = [
    "Band",
    "Chart",
    "Column",
    "Floor",
    "Line",
    "Mark",
    "Point",
    "Region",
    "alt_text",
    "distance_histogram",
    "export_config",
    "line_figure",
    "mini_line",
]

"""Plotly figures from plain arrays: no Streamlit, no arithmetic on privacy.

>>> from dpviz.charts import Axis, Line, LinePlot
>>> line = Line(key="ma", name="Moments", x=[1, 100], y=[0.8, 1.2], family="moments")
>>> chart = LinePlot(Axis("steps T", log=True, kind="steps"), Axis("ε"), (line,)).chart()
>>> chart.figure["layout"]["xaxis"]["type"], chart.notes
('log', ())
"""

from dpviz.charts.axes import Span
from dpviz.charts.histogram import Histogram, HistogramPlot, OverlaidPlot
from dpviz.charts.labels import Mark
from dpviz.charts.marks import Area, Band, Column, Floor, Guide, Line, Numbers, Point, Reference, Region, Ring, Scatter
from dpviz.charts.panels import Panel, Panels
from dpviz.charts.plot import Axis, Chart, LinePlot, Plot
from dpviz.charts.rows import Allowed, AllowedPlot, Dot, DotPlot

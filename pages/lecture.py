"""A lecture: one paper in a few stops of a minute, each a slide."""

from dpviz.ui import lecture

lecture.show()

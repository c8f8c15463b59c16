"""Runs: every training that was recorded, compared."""

from dpviz.ui.runs.page import show

show()

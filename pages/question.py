"""A page of questions: its address says which."""

from dpviz.ui import page, render

render.show(page.asked())

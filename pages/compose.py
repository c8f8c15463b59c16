"""Compose: how does ε grow with steps?"""

from dpviz.ui import page
from dpviz.ui.compose import view

page.begin()
view.show()

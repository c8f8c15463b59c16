"""Train: what does a private run cost, and what does it learn?"""

from dpviz.ui.train.page import show

show()

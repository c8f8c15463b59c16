"""Home: what this is, what each page answers, and a tour for someone who has never met δ."""

from dpviz.ui import home

home.show()

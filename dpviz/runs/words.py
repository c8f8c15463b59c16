"""The words of `words.toml`: what goes wrong with runs, and the way out."""

from dpviz.training.words import Sentences

words = Sentences("dpviz.runs")

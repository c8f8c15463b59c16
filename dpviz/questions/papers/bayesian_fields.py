"""Settings of the questions about single statements on Bayesian DP."""

from __future__ import annotations

from dpviz.fields.declared import number

ZEROS = number("rzeros")
ONES = number("rones")
BINARY_FAILURE = number("rgamma")
EACH = number("geps")
MANY = number("gk")

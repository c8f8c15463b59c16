"""What do five papers print, and does it hold?"""

from __future__ import annotations

from dpviz.questions.page import page
from dpviz.questions.papers import abadi, adaptive, bayesian, check, claims, pate, recorded, sampled

PAPERS = page(
    "papers",
    PRINTED_CLAIMS, CHECK,
    ,
)  # fmt: skip

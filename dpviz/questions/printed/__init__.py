"""What five papers and a lecture print, and the functions that compute it anew: values, no pages."""

from __future__ import annotations

from dpviz.questions.printed import abadi, bayesian, bayesian_table, filters, langevin, sampled
from dpviz.questions.printed.claim import KINDS, VERDICTS, Figure, Paper, Printed, Recomputed

_READ = (bayesian, abadi, langevin, sampled, filters)
PAPERS: dict[str, Paper] = {
    paper.key: paper
    for paper in (bayesian_table.PAPER, abadi.PAPER, abadi.SLIDES, langevin.PAPER, sampled.PAPER, filters.PAPER)
}
CLAIMS: tuple[Printed, ...] = tuple(claim for one in _READ for claim in one.CLAIMS)
FIGURES: tuple[Figure, ...] = tuple(figure for one in _READ for figure in one.FIGURES)

__all__ = ["CLAIMS", "FIGURES", "KINDS", "PAPERS", "VERDICTS", "Figure", "Paper", "Printed", "Recomputed"]

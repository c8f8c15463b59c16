"""Values that five papers and a lecture print, and the functions that recompute them; no pages."""

from pathlib import Path

from dpviz.questions.printed.claim import VERDICTS, Figure, Paper, Printed, Recomputed, read

_FILES = ("bayesian.toml", "abadi.toml", "langevin.toml", "sampled.toml", "filters.toml")
_READ = [read(Path(__file__).with_name(name)) for name in _FILES]
PAPERS: dict[str, Paper] = {paper.key: paper for papers, _, _ in _READ for paper in papers}
CLAIMS: tuple[Printed, ...] = tuple(claim for _, claims, _ in _READ for claim in claims)
FIGURES: tuple[Figure, ...] = tuple(figure for _, _, figures in _READ for figure in figures)
BY_KEY: dict[str, Printed] = {claim.key: claim for claim in CLAIMS}

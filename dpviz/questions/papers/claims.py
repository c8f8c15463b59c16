"""What was printed, and what comes out? Every printed ε and accuracy beside what computing it anew gives."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dpviz.charts import Axis, Dot, DotPlot
from dpviz.fields import choice, numbers
from dpviz.questions import LATER, Answer, Block, Slow, make_question
from dpviz.questions.listing import Listing, Way
from dpviz.questions.printed import CLAIMS, FIGURES, PAPERS, VERDICTS, Printed, Recomputed

MOST = 14  # rows of the chart
HEADS = ("Source", "Printed", "Recomputed", "How", "Verdict", "")
WIDTHS = (1.4, 1.9, 1.9, 2, 3.3, 0.9)  # of a listing's columns
PAPER = choice("ppaper", options={"all": "All"} | {key: paper.name for key, paper in PAPERS.items()})
VERDICT = choice("pverdict", options={"all": "All"} | {key: verdict.name for key, verdict in VERDICTS.items()})
ROWS = choice("prows")


@dataclass(frozen=True)
class Claims:
    """The chosen claims, and what came out of those that are computed.

    Attributes:
        chosen: in the papers' order.
        results: by key.
    """

    chosen: tuple[Printed, ...]
    results: Mapping[str, Recomputed]

    @property
    def waiting(self) -> tuple[Printed, ...]:
        """Those still to be computed."""
        return tuple(claim for claim in self.chosen if claim.recompute is not None and claim.key not in self.results)

    @property
    def computed(self) -> int:
        """How many verdicts rest on a number computed here."""
        return sum(claim.computed for claim in self.chosen)

    @property
    def count(self) -> Counter[str]:
        """How many have each verdict."""
        return Counter(claim.verdict for claim in self.chosen)


def printed_claims(*, paper: str, verdict: str, rows: str) -> Answer[Claims]:
    """The claims of a paper with a verdict; those that take long come later. `rows` is of the page alone."""
    chosen = tuple(claim for claim in CLAIMS if paper in ("all", claim.paper) and verdict in ("all", claim.verdict))
    return compared(Claims(chosen, recomputed(tuple(claim for claim in chosen if not claim.slow))))


def recomputed(claims: Sequence[Printed]) -> dict[str, Recomputed]:
    """What comes out of each that can be computed."""
    return {claim.key: claim.recompute() for claim in claims if claim.recompute is not None}


def compared(facts: Claims) -> Answer[Claims]:
    """What comes out ÷ what is printed, where both are numbers; the farthest apart first."""
    numbered = [claim for claim in facts.chosen if claim.compared and claim.key in facts.results]
    apart = {claim.key: drawn(claim, facts.results[claim.key]) / claim.number for claim in numbered}
    shown = sorted(numbered, key=lambda claim: -abs(math.log(apart[claim.key])))[:MOST]
    dots = tuple(dot(claim, facts.results[claim.key], apart[claim.key]) for claim in shown)
    axis = Axis("recomputed ÷ printed value", column="ratio", log=True)
    plot = DotPlot(axis, dots, rows="printed", reference=1.0, summary="Recomputed value ÷ printed value")
    return Answer(plot, facts)


def drawn(claim: Printed, result: Recomputed) -> float:
    """The value by the paper's rule; of a claim that fails, the least that the quantity itself can be."""
    return result.lower if claim.verdict == "fails" and not math.isnan(result.lower) else result.value


def dot(claim: Printed, result: Recomputed, ratio: float) -> Dot:
    """One claim's row."""
    value, verdict = drawn(claim, result), VERDICTS[claim.verdict]
    text = numbers.probability(value) if claim.share else numbers.plain(value, digits=4)
    if value == result.lower:
        text = f"≥ {numbers.plain(numbers.down(value, 4), digits=4)}"
    hover = f"{PAPERS[claim.paper].name}, {claim.where}: printed {claim.printed}, recomputed {text}"
    return Dot(
        claim.what, ratio, text, f"{hover}<br>{verdict.name}", verdict.color,
        note=f"printed {claim.printed}", key=claim.key,
    )  # fmt: skip


def later(*, compared: bool) -> Slow[Claims]:
    """What takes long: what belongs in the chart, or statements without a number."""

    def waiting(answer: Answer[Claims]) -> list[Printed]:
        return [claim for claim in answer.facts.waiting if claim.compared is compared]

    return Slow(
        lambda answer: tuple(claim.key for claim in waiting(answer)) or None,
        lambda answer: recomputed(waiting(answer)),
        with_rest,
    )


def with_rest(answer: Answer[Claims], results: dict[str, Recomputed]) -> Answer[Claims]:
    """All together."""
    facts = replace(answer.facts, results={**answer.facts.results, **results})
    return replace(compared(facts), given=answer.given)


def below(answer: Answer[Claims]) -> list[Block]:
    if answer.given["rows"] == "figures":
        return [figures(answer.given["paper"])]
    if not answer.facts.chosen:
        return []
    return [listing(answer.facts.chosen, answer.facts.results)]


def listing(claims: Sequence[Printed], results: Mapping[str, Recomputed] | None = None) -> Listing:
    """A row for each claim, with what came out: computed now where nothing is given."""
    values = recomputed(claims) if results is None else results
    return Listing(HEADS, tuple(row(claim, values.get(claim.key)) for claim in claims), WIDTHS)


def row(claim: Printed, result: Recomputed | None) -> tuple[str | Way, ...]:
    """One claim in words."""
    later = "–" if claim.recompute is None else LATER
    missing = f" Missing: {claim.missing}." if claim.missing else ""
    return (
        f"{PAPERS[claim.paper].name}, {claim.where}",
        f"**{claim.printed}** {claim.what}",
        later if result is None else result.text(share=claim.share),
        "–" if claim.how == "none" else claim.how,
        f"**{VERDICTS[claim.verdict].name.capitalize()}.** {claim.why}{missing}",
        Way("Open" if claim.link else "", claim.link),
    )


def figures(paper: str) -> Listing:
    """Where each figure and table is drawn."""
    chosen = [figure for figure in FIGURES if paper in ("all", figure.paper)]
    ways = [Way("Open" if figure.link else "Not drawn", figure.link) for figure in chosen]
    cells = [(f"{PAPERS[one.paper].name}, {one.where}", one.shows, one.why) for one in chosen]
    lines = tuple((*cell, way) for cell, way in zip(cells, ways, strict=True))
    return Listing(("Source", "Shows", "What this app shows", ""), lines, (1.7, 2.2, 4.5, 0.8))


PRINTED_CLAIMS = make_question(
    "papers/claims/claims",
    printed_claims,
    settings={"paper": PAPER, "verdict": VERDICT, "rows": ROWS},
    slow=(later(compared=True), later(compared=False)),
    below=below,
)

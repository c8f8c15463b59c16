"""Every printed ε and accuracy beside its recomputed value: do the printed values hold?"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from dpviz.charts import Axis, Dot, DotPlot
from dpviz.fields import choice, numbers
from dpviz.questions import LATER, Answer, Block, Formula, Metric, Note, Question, Slow, Words
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
        paper: whose they are; "all" of all.
        rows: what is listed below, one of `ROWS`.
    """

    chosen: tuple[Printed, ...]
    results: Mapping[str, Recomputed]
    paper: str
    rows: str

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

    @property
    def confirmed(self) -> int:
        """How many hold, some of them under a condition."""
        return self.count["holds"] + self.count["under"]


def printed_claims(
    *, paper: Annotated[str, PAPER], verdict: Annotated[str, VERDICT], rows: Annotated[str, ROWS]
) -> Answer[Claims]:
    """The claims of a paper with a verdict; those that take long come later."""
    chosen = tuple(claim for claim in CLAIMS if paper in ("all", claim.paper) and verdict in ("all", claim.verdict))
    return compared(Claims(chosen, recomputed(tuple(claim for claim in chosen if not claim.slow)), paper, rows))


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
        text = f"≥ {numbers.plain(numbers.rounded_down(value, 4), digits=4)}"
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
    facts = answer.facts
    if facts.rows == "figures":
        return [figures(facts.paper)]
    return [listing(facts.chosen, facts.results)] if facts.chosen else []


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
    lines = tuple(
        (f"{PAPERS[one.paper].name}, {one.where}", one.shows, one.why, Way("Open", one.link)) for one in chosen
    )
    return Listing(("Source", "Shows", "What this app shows", ""), lines, (1.7, 2.2, 4.5, 0.8))


def headline(f: Claims) -> str:
    if not f.chosen:
        return "No printed value of this paper has this verdict."
    n, conditional, undecided = len(f.chosen), f.count["under"], f.count["open"]
    refuted = n - f.confirmed - undecided
    printed = "value or statement" if n == 1 else "values and statements"
    condition = f" ({conditional} under a condition)" if conditional else ""
    return (
        f"Of <b>{n}</b> printed {printed}, <b>{f.confirmed}</b> {'holds' if f.confirmed == 1 else 'hold'}{condition}, "
        f"<b>{refuted}</b> {'is' if refuted == 1 else 'are'} not confirmed and <b>{undecided}</b> cannot be checked; "
        f"{f.computed} {'was' if f.computed == 1 else 'were'} recomputed."
    )


def metrics(f: Claims) -> Iterator[Metric]:
    count = f.count
    yield Metric("Hold", f"{f.confirmed}", f"{count['under']} of them under a condition")
    yield Metric("Misprints", f"{count['misprint']}", f"{count['differs']} more are not reproduced")
    yield Metric("Do not hold", f"{count['fails'] + count['proof']}", f"{count['proof']} of them errors in proofs")
    yield Metric("Cannot be checked", f"{count['open']}", "something is not available")


def notes(f: Claims) -> Iterator[Note]:
    yield Note(
        "Each dot is the recomputed value, by the paper's own rule, divided by the printed one; if a claim does not "
        "hold, it is the smallest possible value. Green: holds. Blue: holds under a condition. Mauve: a misprint or an "
        "error in a proof. Brown: not reproduced, or depends on its baseline. Orange: does not hold."
    )
    if f.waiting:
        yield Note(f"{len(f.waiting)} of the values: {LATER}.")


RIGHT_GUESSES = Formula("Right guesses (Triastcyn & Faltings 2020, Eq. 1)", r"P(A) = \frac{1}{1+e^{-\varepsilon}}")
ASSUMPTIONS = """
- **Only printed values are typed in.** Every other number is computed when the page asks for it, by the functions
  behind the other pages; the link of each row opens the page that computes it. Rows whose source was only read are not
  counted as recomputed.
- **Printed** means in a table, a caption, an abstract, or a sentence that states a result; of formulas, those that
  a reader would use.
- **Holds** means: equal to the last printed digit, or on the safe side. It says nothing about a program: sampling,
  clipping and noise are taken as the papers describe them.
- **Misprint** means: the source's own text or code shows the intended value. If the recomputed value differs and
  nothing shows why, the row says "not reproduced"; a guess about the reason is called an inference.
- **Intervals** come from the PLD accountant: the quantity lies between their ends.
- **Authors' procedures** (Triastcyn & Faltings 2020, Figs. 1, 3, 4) follow their public notebooks, on a few draws.
"""

PRINTED_CLAIMS = Question(
    "claims",
    "Do the printed values hold?",
    printed_claims,
    Words(headline, metrics, notes, lambda _: (RIGHT_GUESSES,), ASSUMPTIONS),
    asks="confirmed",
    slow=(later(compared=True), later(compared=False)),
    below=below,
)

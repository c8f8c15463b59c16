"""What was printed, and what comes out? Every printed ε and accuracy beside what computing it anew gives."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dpviz.charts.plot import Axis
from dpviz.charts.rows import Dot, DotPlot
from dpviz.fields import numbers
from dpviz.fields.declared import choice
from dpviz.questions.answer import LATER, Answer, Metric, Note, Slow
from dpviz.questions.layout import Groups, Reader, experts
from dpviz.questions.listing import Listing, Way
from dpviz.questions.printed import CLAIMS, FIGURES, PAPERS, VERDICTS, Printed, Recomputed
from dpviz.questions.question import Block, Question
from dpviz.questions.shared import IMAGE

MOST = 14  # rows of the chart
HEADS = ("Source", "Printed", "What comes out", "How", "Verdict", "")
WIDTHS = (1.4, 1.9, 1.9, 2, 3.3, 0.9)  # of a listing's columns
PAPER = choice("ppaper", options={"all": "All"} | {key: paper.name for key, paper in PAPERS.items()})
VERDICT = choice("pverdict", options={"all": "All"} | {key: verdict.name for key, verdict in VERDICTS.items()})
ROWS = choice("prows")


@dataclass(frozen=True)
class Claims:
    """The chosen claims, and what came out of those that are computed.

    Attributes:
        chosen: in the papers' order.
        found: by key.
    """

    chosen: tuple[Printed, ...]
    found: Mapping[str, Recomputed]

    @property
    def waiting(self) -> tuple[Printed, ...]:
        """Those still to be computed."""
        return tuple(claim for claim in self.chosen if claim.recompute is not None and claim.key not in self.found)


def printed_claims(*, paper: str, verdict: str, rows: str) -> Answer[Claims]:
    """The claims of a paper with a verdict; those that take long come later. `rows` is of the page alone."""
    chosen = tuple(claim for claim in CLAIMS if paper in ("all", claim.paper) and verdict in ("all", claim.verdict))
    return compared(Claims(chosen, recomputed(tuple(claim for claim in chosen if not claim.slow))))


def recomputed(claims: Sequence[Printed]) -> dict[str, Recomputed]:
    """What comes out of each that can be computed."""
    return {claim.key: claim.recompute() for claim in claims if claim.recompute is not None}


def compared(facts: Claims) -> Answer[Claims]:
    """What comes out ÷ what is printed, where both are numbers; the farthest apart first."""
    numbered = [claim for claim in facts.chosen if claim.compared and claim.key in facts.found]
    apart = {claim.key: drawn(claim, facts.found[claim.key]) / claim.number for claim in numbered}
    shown = sorted(numbered, key=lambda claim: -abs(math.log(apart[claim.key])))[:MOST]
    dots = tuple(dot(claim, facts.found[claim.key], apart[claim.key]) for claim in shown)
    axis = Axis("what comes out ÷ what is printed", column="ratio", log=True)
    plot = DotPlot(axis, dots, rows="printed", reference=1.0, said="What comes out, for what was printed")
    return Answer(plot, facts)


def drawn(claim: Printed, found: Recomputed) -> float:
    """The value by the paper's rule; of a claim that fails, the least that the quantity itself can be."""
    return found.lower if claim.verdict == "fails" and not math.isnan(found.lower) else found.value


def dot(claim: Printed, found: Recomputed, ratio: float) -> Dot:
    """One claim's row."""
    value, verdict = drawn(claim, found), VERDICTS[claim.verdict]
    text = numbers.probability(value) if claim.share else numbers.plain(value, digits=4)
    if value == found.lower:
        text = f"≥ {numbers.plain(numbers.down(value, 4), digits=4)}"
    hover = f"{PAPERS[claim.paper].name}, {claim.where}: {claim.printed} printed, {text} comes out"
    return Dot(
        claim.what, ratio, text, f"{hover}<br>{verdict.name}", verdict.color,
        note=f"printed {claim.printed}", key=claim.key,
    )  # fmt: skip


def waited_numbers(a: Answer[Claims]) -> tuple[str, ...] | None:
    """Keys of what takes long and belongs in the chart."""
    return tuple(claim.key for claim in a.facts.waiting if claim.compared) or None


def rest_of_numbers(a: Answer[Claims]) -> dict[str, Recomputed]:
    """What takes long and belongs in the chart."""
    return recomputed([claim for claim in a.facts.waiting if claim.compared])


def waited_words(a: Answer[Claims]) -> tuple[str, ...] | None:
    """Keys of what else takes long."""
    return tuple(claim.key for claim in a.facts.waiting if not claim.compared) or None


def rest_of_words(a: Answer[Claims]) -> dict[str, Recomputed]:
    """What else takes long: statements without a number."""
    return recomputed([claim for claim in a.facts.waiting if not claim.compared])


def with_rest(a: Answer[Claims], found: dict[str, Recomputed]) -> Answer[Claims]:
    """All together."""
    facts = replace(a.facts, found={**a.facts.found, **found})
    return replace(compared(facts), given=a.given)


def counts(a: Answer[Claims]) -> Counter[str]:
    return Counter(claim.verdict for claim in a.facts.chosen)


def headline(a: Answer[Claims]) -> str:
    count, all_of = counts(a), len(a.facts.chosen)
    if not all_of:
        return "No printed value of this paper has this verdict."
    computed = sum(claim.computed for claim in a.facts.chosen)
    said = ", ".join(
        f"<b>{count[key]}</b> {verdict.several if count[key] > 1 else verdict.one}"
        for key, verdict in VERDICTS.items()
        if count[key]
    )
    return (
        f"Of <b>{all_of}</b> printed values and statements, <b>{computed}</b> were computed anew and "
        f"<b>{all_of - computed}</b> were not: {said}."
    )


def metrics(a: Answer[Claims]) -> list[Metric]:
    count = counts(a)
    return [
        Metric("Hold", f"{count['holds'] + count['under']}", f"{count['under']} of them under a condition"),
        Metric("Misprints", f"{count['misprint']}", f"{count['differs']} more are not reproduced"),
        Metric("Do not hold", f"{count['fails'] + count['proof']}", f"{count['proof']} of them errors in proofs"),
        Metric("Cannot be checked", f"{count['open']}", "something is not published, or not here"),
    ]


def notes(a: Answer[Claims]) -> list[Note]:
    built = [
        Note(
            "Each dot: what comes out by the paper's own rule (of what does not hold, the least it can be), divided by "
            "what is printed. Green holds, blue holds under a condition, mauve is a misprint or an "
            "error in a proof, brown is not reproduced or rests on its baseline, orange does not hold."
        )
    ]
    if a.facts.waiting:
        built.append(Note(f"{len(a.facts.waiting)} of the values: {LATER}."))
    return built


def below(a: Answer[Claims]) -> list[Block]:
    if a.given["rows"] == "figures":
        return [figures(a.given["paper"])]
    if not a.facts.chosen:
        return []
    return [listing(a.facts.chosen, a.facts.found)]


def listing(claims: Sequence[Printed], found: Mapping[str, Recomputed] | None = None) -> Listing:
    """A row for each claim, with what came out: computed now where nothing is given."""
    values = recomputed(claims) if found is None else found
    return Listing(HEADS, tuple(row(claim, values.get(claim.key)) for claim in claims), WIDTHS)


def row(claim: Printed, found: Recomputed | None) -> tuple[str | Way, ...]:
    """One claim in words."""
    later = "–" if claim.recompute is None else LATER
    missing = f" Missing: {claim.missing}." if claim.missing else ""
    return (
        f"{PAPERS[claim.paper].name}, {claim.where}",
        f"**{claim.printed}** {claim.what}",
        later if found is None else found.text(share=claim.share),
        "–" if claim.how == "none" else claim.how,
        f"**{VERDICTS[claim.verdict].name.capitalize()}.** {claim.why}{missing}",
        Way("Open" if claim.link else "", claim.link),
    )


def figures(paper: str) -> Listing:
    """Where each figure and table is drawn."""
    return Listing(
        ("Source", "Shows", "What is drawn here", ""),
        tuple(
            (
                f"{PAPERS[figure.paper].name}, {figure.where}",
                figure.shows,
                figure.why,
                Way("Open" if figure.link else "Not drawn", figure.link),
            )
            for figure in FIGURES
            if paper in ("all", figure.paper)
        ),
        (1.7, 2.2, 4.5, 0.8),
    )


def formulas(a: Answer[Claims]) -> list[tuple[str, str]]:
    return [("Right guesses (Triastcyn & Faltings 2020, Eq. 1)", r"P(A) = \frac{1}{1+e^{-\varepsilon}}")]


def layout(get: Reader) -> Groups:
    return {"Question": (PAPER, VERDICT, ROWS), "Show": experts(IMAGE)}


ASSUMPTIONS = """
- **Only what was printed is typed in.** Every other number is computed when the page asks for it, by the functions
  behind the other pages; each row's link opens the page that computes it. The headline counts these rows apart from
  rows whose source was only read.
- **Printed** means in a table, a caption, an abstract, or a sentence that states a result; of formulas, those that
  a reader would use.
- **Holds** means: equal to the last printed digit, or on the safe side. It says nothing about a program: sampling,
  clipping and noise are taken as the papers describe them.
- **Misprint** means: the source's own text or code shows the value that was meant. Where another value comes out and
  nothing shows why, the row says "not reproduced"; what it guesses about the reason is called an inference.
- **Intervals** are numerically tight: the quantity lies between their ends, whichever accountant is asked.
- **Authors' procedures** (Triastcyn & Faltings 2020, Figs. 1, 3, 4) follow their public notebooks, on a few draws.
"""

PRINTED_CLAIMS: Question[Claims] = Question(
    key="claims",
    title="What was printed, and what comes out?",
    settings={"paper": PAPER, "verdict": VERDICT, "rows": ROWS},
    answer=printed_claims,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=ASSUMPTIONS,
    slow=(Slow(waited_numbers, rest_of_numbers, with_rest), Slow(waited_words, rest_of_words, with_rest)),
    layout=layout,
    below=below,
)

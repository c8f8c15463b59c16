"""What is said about PATE."""

from __future__ import annotations

from dataclasses import dataclass

from dpviz.experiments.record import recorded
from dpviz.experiments.teachers import VOTES
from dpviz.fields import numbers
from dpviz.questions.answer import Answer, Metric, Note
from dpviz.questions.papers.pate_published import CHANCE, Publication
from dpviz.training.ensemble import Taught


@dataclass(frozen=True)
class PateFacts:
    """After the last query.

    Attributes:
        queries: how many were asked, at most as many as are recorded.
        teachers: how many vote.
        whatever: ε by Rényi divergences, whatever the votes.
        public: the least ε that may be published: the tight one where there is one.
        at_votes: ε at these votes.
        answered: how many answers are expected.
        lead: of the first class over the second, in votes, in the median query.
        released: ε at these votes as published, with what that costs; None where it is not worked out.
        taught: the student, once there is one.
    """

    queries: int
    teachers: int
    whatever: float
    public: float
    at_votes: float
    answered: float
    lead: float
    released: float | None = None
    taught: Taught | None = None


def count(value: float) -> str:
    return numbers.steps(value)


def up(value: float) -> str:
    return numbers.epsilon(value, up=True)


def gains(f: PateFacts) -> bool:
    """Whether knowing the votes lowers ε."""
    return f.at_votes < f.public


def headline(a: Answer[PateFacts]) -> str:
    f = a.facts
    asked = f"{count(f.queries)} quer{'y' if f.queries == 1 else 'ies'} to {count(f.teachers)} teachers"
    if not gains(f):
        return f"{asked} cost <b>ε ≤ {up(f.public)}</b>, whatever the votes; knowing the votes does not lower it."
    shown = "" if f.released is None else f"; made fit to be published, <b>{up(f.released)}</b>"
    return (
        f"{asked} cost <b>ε ≤ {up(f.public)}</b>, whatever the votes; at these votes "
        f"<b>{up(f.at_votes)}</b>, a number that is itself private{shown}."
    )


def metrics(a: Answer[PateFacts]) -> list[Metric]:
    f = a.facts
    built = [
        Metric("Whatever the votes", up(f.public), "may be published"),
        Metric("At these votes", up(f.at_votes), "may not: it tells of the votes" if gains(f) else "no less"),
    ]
    if f.released is not None:
        pays = "may be published; too low 1 time in 100" if f.released < f.public else "dearer than whatever the votes"
        built.append(Metric("Sanitised", up(f.released), pays))
    digits = a.given["votes"] == "digits"
    if a.given["release"] == "lnmax" or not digits:
        if a.given["release"] == "confident":
            built.append(Metric("Answered", numbers.probability(f.answered / f.queries), "of the queries, expected"))
        else:
            built.append(Metric("Lead", f"{f.lead:.0f} votes", "of the first class, median query"))
    if digits:
        built.append(_student(f.taught))
    return built


def _student(taught: Taught | None) -> Metric:
    if taught is None:
        return Metric("Student", "…", "on 1000 test digits")
    if not taught.answered:
        return Metric("Student", "–", "no query was answered")
    right = numbers.probability(taught.right)
    return Metric("Student", numbers.probability(taught.accuracy), f"right on test digits; {right} of its labels are")


def notes(a: Answer[PateFacts]) -> list[Note]:
    f, g = a.facts, a.given
    built = [
        Note(
            "At these votes, dashed: what answers cost by how clearly the teachers agree. It is a function of private "
            "votes and may not be published or relied on as a promise. Solid: whatever the votes, which may."
        )
    ]
    if f.released is None:
        built.append(Note("Smoothing the cost at these votes so that it may be published is built for Gaussian noise."))
    else:
        built.append(_sanitised(a))
    if g["release"] == "confident":
        often = numbers.probability(f.answered / f.queries)
        built.append(Note(f"Of the queries {often} are expected to be answered; the others cost their check."))
    if g["votes"] == "digits" and g["queries"] > f.queries:
        built.append(Note(f"Votes on {count(f.queries)} queries are recorded: the curves end there.", "caution"))
    if g["votes"] == "digits":
        trial = recorded(VOTES.key).of(g["recorded_teachers"])[0].found
        built.append(
            Note(
                f"Recorded: {recorded(VOTES.key).made}. A teacher is right on "
                f"{numbers.probability(trial['teachers_right'])} of the queries, the most votes on "
                f"{numbers.probability(trial['votes_right'])}."
            )
        )
    if a.plot.points:  # type: ignore[attr-defined]
        built.append(
            Note(
                "Diamonds: ε of PATE as Li et al. 2019, Table 1, print it, at the queries in brackets there. It was "
                "found at votes that are in neither paper, so it is compared here and not checked."
            )
        )
    if g["one_sided"]:
        built.append(
            Note(
                "One direction: the dashed curve bounds how much likelier answers are at these votes than at a "
                "neighbour's, not the reverse. (ε, δ)-DP asks for both.",
                "caution",
            )
        )
    return built


def _sanitised(a: Answer[PateFacts]) -> Note:
    f, g = a.facts, a.given
    assert f.released is not None
    text = (
        "Sanitised: the cost at these votes with noise by its smooth sensitivity (after Papernot et al. 2018, Appendix "
        f"B), at one order, after one draw of the noise. It includes what publishing costs, and errs above: but for a "
        f"chance of {numbers.probability(CHANCE)} it is no less than ε at these votes, of which alone it speaks. It is "
        "published once, after the last query; α, β and σ_ss must be chosen without looking at the votes."
    )
    if g["release"] == "confident":
        text += " Each check is paid for as at any votes, and each query as if it were answered."
    if f.released >= f.public:
        text += " Here publishing it does not pay: ε whatever the votes is lower."
    return Note(text)


def formulas(a: Answer[PateFacts]) -> list[tuple[str, str]]:
    g = a.given
    if g["release"] == "lnmax":
        b = numbers.plain(g["noise_scale"])
        return [
            (
                "Whatever the votes",
                rf"R(\alpha) = 2\,D_\alpha(\mathrm{{Lap}}(0, b)\,\|\,\mathrm{{Lap}}(1, b)),\ b = {b}",
            ),
            (
                "At these votes (Papernot et al. 2017, Theorem 3 and Lemma 4)",
                r"e^{(\alpha-1)D_\alpha} \le (1-q)\Big(\tfrac{1-q}{1-e^{2/b}q}\Big)^{\alpha-1} "
                r"+ q\,e^{2(\alpha-1)/b}",
            ),
            (
                "q bounds how often another class comes out",
                r"q = \sum_{i\ne i^*}\frac{2+\Delta_i/b}{4\,e^{\Delta_i/b}}",
            ),
        ]
    sigma = numbers.plain(g["noise_std"])
    each = rf"R(\alpha) = \frac{{\alpha}}{{\sigma^2}},\ \sigma = {sigma}"
    if g["release"] == "confident":
        checked = numbers.plain(g["threshold_std"])
        each = (
            rf"R(\alpha) = \frac{{\alpha}}{{2\sigma_1^2}} + \frac{{\alpha}}{{\sigma^2}},\ \sigma_1 = {checked},\ "
            rf"\sigma = {sigma}"
        )
    publication = Publication(g["order"], g["smoothness"], g["published_noise"], g["draw"])
    return [
        ("Whatever the votes (Papernot et al. 2018, Proposition 8)", each),
        (
            "At these votes (Papernot et al. 2018, Theorem 6 and Proposition 7)",
            r"e^{(\alpha-1)D_\alpha} \le (1-q)A^{\alpha-1} + qB^{\alpha-1},\ "
            r"A = \frac{1-q}{1-(q e^{\mu_2/\sigma^2})^{(\mu_2-1)/\mu_2}},\ B = e^{\mu_1/\sigma^2} q^{-1/\mu_2}",
        ),
        (
            "q bounds how often another class comes out",
            r"q = \tfrac12\sum_{i\ne i^*}\mathrm{erfc}\frac{\Delta_i}{2\sigma},\ \mu_2 = \sigma\sqrt{\ln(1/q)},\ "
            r"\mu_1 = \mu_2+1 \ge \alpha",
        ),
        *publication.formulas,
    ]


ASSUMPTIONS = """
- **One person's record is in one teacher's part**, and everyone else's stays with its teacher: then adding, removing or
  replacing a record moves one vote of each query from one class to another.
- **Queries are public** and chosen ahead, whatever the answers. Only answers are released, and which queries had none;
  never votes, nor teachers.
- **Numbers of teachers, noise and threshold** are chosen without looking at the private data.
- **At these votes**: Δᵢ is the lead over class i. So that the bound holds from these votes to a neighbour's and back, 2
  is taken off every lead; “one direction” takes off nothing, as the papers do. The check costs what two coins of known
  bias differ. Where a condition of the theorem fails, the cost is that of any votes.
- **Sanitised** is a statement about these votes too; that it may be told, and not that it holds for all votes, is what
  its cost buys. Smooth sensitivity bounds what one teacher could change, here and at votes of d changed teachers,
  discounted by e^(−βd). The order, β, σ_ss and the number of queries are chosen ahead. Its noise is secret in earnest;
  here a seed draws it.
- **The digits are a demonstration**: noise and teachers were tried on them, and queries and votes lie open in a file.
- **The student** is one draw of the noise; its accuracy is another number that ε does not cover.
"""

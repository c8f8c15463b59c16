"""Words of the question what PATE's answers cost (Papernot et al. 2017, 2018; Li et al. 2019 compare with it)."""

from collections.abc import Iterator

from dpviz.accounting.pate.smooth_release import SmoothRelease
from dpviz.fields import numbers
from dpviz.questions import (
    Formula,
    Layout,
    Metric,
    Note,
    Question,
    Reader,
    Words,
    annotated,
    experts,
    published,
    slow_facts,
)
from dpviz.questions.papers.pate_ensemble import (
    NOISES,
    ORDER,
    PUBLISHED_NOISE,
    RELEASE,
    SMOOTHNESS,
    VOTES,
    PateFacts,
    PateSettings,
    ensemble,
    student_key,
    with_student,
)


def headline(f: PateFacts) -> str:
    asked = f"{numbers.steps(f.queries)} quer{'y' if f.queries == 1 else 'ies'} to {numbers.steps(f.teachers)} teachers"
    for_any = f"{asked} cost <b>ε ≤ {numbers.up(f.public)}</b> for any votes"
    if not f.helpful:
        return f"{for_any}; using the votes does not lower it."
    at_votes = f"At these votes ε is <b>{numbers.up(f.at_votes)}</b>"
    private = f"{for_any}. {at_votes}; that ε depends on the votes, so it must stay secret"
    if f.released is None:
        return f"{private}."
    return f"{private}; the publishable value is <b>{numbers.up(f.released)}</b>."


def metrics(f: PateFacts) -> Iterator[Metric]:
    yield Metric("For any votes", numbers.up(f.public), "may be published")
    private = "must not be published; it depends on the votes"
    yield Metric("At these votes", numbers.up(f.at_votes), private if f.helpful else "no less")
    if f.released is not None:
        useful = f.released < f.public
        note = "may be published; too low in 1 of 100 cases" if useful else "more than for any votes"
        yield Metric("Sanitised", numbers.up(f.released), note)
    if f.settings.release == "lnmax" or (f.settings.release == "gnmax" and not f.settings.digits):
        yield Metric("Lead", f"{f.lead:.0f} votes", "of the first class, median query")
    if f.settings.release == "confident" and not f.settings.digits:
        yield Metric("Answered", numbers.probability(f.answered_share), "of the queries, expected")
    if f.settings.digits:
        yield student_metric(f)


def student_metric(f: PateFacts) -> Metric:
    """How good a student becomes with the answers."""
    if f.student is None:
        return Metric("Student", "…", "on 1000 test digits")
    if not f.student.answered:
        return Metric("Student", "–", "no query was answered")
    labels = f"right on test digits; {numbers.probability(f.student.right)} of its labels are"
    return Metric("Student", numbers.probability(f.student.accuracy), labels)


def notes(f: PateFacts) -> Iterator[Note]:
    yield Note(
        "Dashed: the cost at these votes, which is lower if the teachers agree clearly. It depends on private votes, "
        "so it must not be published or used as a guarantee. Solid: the cost for any votes, which may be published."
    )
    yield sanitised_note(f)
    if f.settings.release == "confident":
        share = numbers.probability(f.answered_share)
        yield Note(f"About {share} of the queries are answered in expectation; the others cost only their check.")
    if f.cut:
        yield Note(f"Votes on {numbers.steps(f.queries)} queries are recorded: the curves end there.", "caution")
    if f.settings.digits:
        yield Note(
            f"Recorded: {f.record.made}. A teacher is right on {numbers.probability(f.record.teachers_right)} of the "
            f"queries, the class with the most votes on {numbers.probability(f.record.votes_right)}."
        )
    if f.compared:
        yield Note(
            "Diamonds: ε of PATE as Li et al. 2019, Table 1, print it, at the queries in brackets there. Their votes "
            "are in neither paper, so the values are compared but not checked."
        )
    if f.settings.one_sided:
        yield Note(
            "One direction: the dashed curve bounds how much likelier answers are at these votes than at a "
            "neighbour's, but not the reverse. (ε, δ)-DP requires both.",
            "caution",
        )


def sanitised_note(f: PateFacts) -> Note:
    """What a publishable ε at the votes means, or that there is none."""
    if f.smooth is None or f.released is None:
        return Note("A publishable ε (smooth sensitivity) is only available for Gaussian noise.")
    sentences = [
        "Sanitised: the cost at these votes with noise by its smooth sensitivity (after Papernot et al. 2018, Appendix "
        "B), at one order, for one draw of the noise. It includes the cost of publishing. Except with probability "
        f"{numbers.probability(f.smooth.chance)} it is at least ε at these votes, and it holds only for them. It is "
        "published once, after the last query; α, β and σ_ss must be chosen without looking at the votes."
    ]
    if f.settings.release == "confident":
        sentences.append("Each check is charged as for any votes, and each query as if it were answered.")
    if f.released >= f.public:
        sentences.append("Here it is not useful: ε for any votes is lower.")
    return Note(" ".join(sentences))


def formulas(f: PateFacts) -> Iterator[Formula]:
    settings = f.settings
    sigma = numbers.plain(settings.noise_std)
    proposition = "For any votes (Papernot et al. 2018, Proposition 8)"
    if settings.release == "lnmax":
        yield Formula(
            "For any votes",
            r"R(\alpha) = 2\,D_\alpha(\mathrm{Lap}(0, b)\,\|\,\mathrm{Lap}(1, b)),"
            rf"\ b = {numbers.plain(settings.noise_scale)}",
        )
        yield from LAPLACE
    elif settings.release == "gnmax":
        yield Formula(proposition, rf"R(\alpha) = \frac{{\alpha}}{{\sigma^2}},\ \sigma = {sigma}")
    else:
        yield Formula(
            proposition,
            r"R(\alpha) = \frac{\alpha}{2\sigma_1^2} + \frac{\alpha}{\sigma^2},"
            rf"\ \sigma_1 = {numbers.plain(settings.threshold_std)},\ \sigma = {sigma}",
        )
    if f.smooth is not None:
        yield from GAUSSIAN
        yield from sanitised(f.smooth)


LAPLACE = (
    Formula(
        "At these votes (Papernot et al. 2017, Theorem 3 and Lemma 4)",
        r"e^{(\alpha-1)D_\alpha} \le (1-q)\Big(\tfrac{1-q}{1-e^{2/b}q}\Big)^{\alpha-1} + q\,e^{2(\alpha-1)/b}",
    ),
    Formula(
        "q bounds how often another class comes out",
        r"q = \sum_{i\ne i^*}\frac{2+\Delta_i/b}{4\,e^{\Delta_i/b}}",
    ),
)
GAUSSIAN = (
    Formula(
        "At these votes (Papernot et al. 2018, Theorem 6 and Proposition 7)",
        r"e^{(\alpha-1)D_\alpha} \le (1-q)A^{\alpha-1} + qB^{\alpha-1},\ A ="
        r" \frac{1-q}{1-(q e^{\mu_2/\sigma^2})^{(\mu_2-1)/\mu_2}},\ B = e^{\mu_1/\sigma^2} q^{-1/\mu_2}",
    ),
    Formula(
        "q bounds how often another class comes out",
        r"q = \tfrac12\sum_{i\ne i^*}\mathrm{erfc}\frac{\Delta_i}{2\sigma},\ \mu_2 = \sigma\sqrt{\ln(1/q)},"
        r"\ \mu_1 = \mu_2+1 \ge \alpha",
    ),
)


def sanitised(smooth: SmoothRelease) -> Iterator[Formula]:
    """How the cost at the votes is published, and what that costs."""
    yield Formula(
        "Smooth sensitivity of the cost at these votes",
        rf"S = \max_d e^{{-\beta d}}\,LS(d),\ \alpha = {numbers.plain(smooth.order)},"
        rf"\ \beta = {numbers.plain(smooth.smoothness)},\ \sigma_{{ss}} = {numbers.plain(smooth.noise)}",
    )
    yield Formula(
        f"Sanitised: a limit that is too low with probability {numbers.probability(smooth.chance)}",
        r"R(\alpha) \le v + S\sigma_{ss}Z_2 + c\,\sigma_{ss}\,S e^{\beta\tau Z_1},"
        rf"\ c = {numbers.plain(smooth.factor)},\ \tau = {numbers.plain(smooth.log_noise)}",
    )
    yield Formula(
        "Cost of publishing, for any votes",
        r"\frac{\alpha}{2\sigma_{ss}^2(\alpha-(\alpha-1)e^{2\beta})} - \frac{\alpha\beta +"
        r" \frac12\ln(1-\alpha(1-e^{-2\beta}))}{\alpha-1} + \frac{\alpha}{2\tau^2}"
        rf" = {numbers.plain(smooth.cost)}",
    )


ASSUMPTIONS = """
- **Parts:** the record of one person is in the part of one teacher, and all other records stay with their teachers.
  Adding, removing or replacing a record then moves one vote of each query from one class to another.
- **Queries are public** and chosen in advance, independently of the answers. The answers are released, and which
  queries were not answered. Votes and teachers are never released.
- **Numbers of teachers, noise and threshold** are chosen without looking at the private data.
- **At these votes**: Δᵢ is the lead over class i. Every lead is reduced by 2, so that the bound holds from these votes
  to neighbouring votes and back; “one direction” does not reduce the leads, like the papers. The check costs the
  divergence of two coins of known bias. If a condition of the theorem fails, the cost for any votes is used.
- **Sanitised** values also hold only for these votes; they include the cost of publishing them. Smooth sensitivity
  bounds the change that one teacher could cause, here and at the votes of d changed teachers, discounted by exp(−βd).
  The order, β, σ_ss and the number of queries are chosen in advance. In real use, its noise must be secret; here a seed
  draws it.
- **The digits are a demonstration**: noise and teachers were chosen by trial on them, and queries and votes are public
  in a file.
- **The student** is one draw of the noise; its accuracy is another number that ε does not cover.
"""


def layout(get: Reader) -> Layout:
    digits, release = get(VOTES) == "digits", get(RELEASE)
    publishes = release != "lnmax"
    whose = ("recorded_teachers",) if digits else ("teachers", "agreement")
    return {
        "Release": ("release", *NOISES[release], "queries", "delta"),
        "Votes": ("votes", *whose, *(("draw",) if digits or publishes else ())),
        "Show": ("one_sided",),
    } | ({"Publish": experts(PUBLISHED_NOISE, SMOOTHNESS, ORDER)} if publishes else {})


PATE = Question(
    "pate",
    "PATE: what do answers cost?",
    ensemble,
    Words(headline, metrics, notes, formulas, ASSUMPTIONS),
    asks="public",
    settings=annotated(PateSettings),
    layout=layout,
    slow=(slow_facts(student_key, with_student),),
    presets=published("sgpate", "sanitised", "confident"),
)

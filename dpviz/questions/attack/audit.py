"""An audit: how large an ε do attacks on real runs show, and which faults of a training do they find?"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pandas as pd

from dpviz import library as dpviz
from dpviz.accounting.audit.counts import CONFIDENCE, each_of_two, highest_rate, lowest_rate
from dpviz.accounting.methods import Tight
from dpviz.accounting.pld.quick import quick_profile
from dpviz.charts import Axis, Guide, Line, LinePlot, Ring, look
from dpviz.fields import choice, number, numbers
from dpviz.questions import (
    Answer,
    Block,
    Compound,
    FieldControl,
    Formula,
    Layout,
    Metric,
    Note,
    Question,
    Reader,
    Words,
    setting,
)
from dpviz.questions.attack.audit_runs import (
    FAULTS,
    HONEST,
    MoreRuns,
    Scores,
    Shown,
    claim,
    fault_rows,
    one_run_guesses,
    one_run_shown,
    plan,
    record_of,
    recorded_scores,
    shown,
    together,
)
from dpviz.questions.source import NoSample, Source, origin

FAULT, WAY, SHOW = choice("aufault"), choice("auway"), choice("aushow")
RUNS, DELTA_AUDIT, MORE = number("auruns"), number("audelta"), number("aumore")
POINTS = 24  # of the bound along the runs
MAKING = "The further runs are being made now."
BOUNDS = {"joint": look.GREEN, "interval": look.BLUE, "one_run": look.MAUVE}


@dataclass(frozen=True, eq=False)
class AuditFacts:
    """What runs show.

    Attributes:
        runs, available, wanted: used a side, there, and asked for.
        claim: the tight ε of the plan at δ, from above.
        shown: by all runs used.
        one_run: ε that the run with many canaries shows, at least.
        problem, coming: why further runs are not there, and whether they are being made.
        made: how the recorded ones were made.
    """

    fault: str
    way: str
    chart: str
    delta: float
    runs: int
    available: int
    wanted: int
    claim: float
    shown: Shown
    one_run: float
    problem: str
    coming: bool
    made: str

    @property
    def value(self) -> float:
        """ε by the chosen estimator."""
        return self.one_run if self.way == "one_run" else float(getattr(self.shown, self.way))

    @property
    def written(self) -> str:
        """It, rounded down, or to the nearest where it is an estimate."""
        return numbers.plain(self.value) if self.way == "fit" else numbers.down(self.value)

    @property
    def seen(self) -> bool:
        """Whether a bound exceeds the claim: then something is wrong, but for one audit in twenty."""
        return self.way != "fit" and self.value > self.claim


def extra(get: Reader) -> MoreRuns:
    return MoreRuns(get(FAULT), int(get(MORE)))


def extra_texts(runs: Source[dict[str, Any]]) -> dict[str, str]:
    of = origin(runs)
    assert isinstance(of, MoreRuns)
    return {FAULT.key: FAULT.write(of.fault), MORE.key: MORE.write(of.hundreds)}


EXTRA = Compound({"fault": FAULT, "more": MORE}, extra, extra_texts)


def audit(
    *,
    training: Source[dict[str, Any]],
    estimator: Annotated[str, WAY],
    runs: Annotated[int, RUNS],
    delta: Annotated[float, DELTA_AUDIT],
    chart: Annotated[str, SHOW],
) -> Answer[AuditFacts]:
    """The bound along the runs under the claimed ε, or the error rates under the best ones that the claim allows."""
    of = origin(training)
    assert isinstance(of, MoreRuns)
    problem, coming, fault = "", False, of.fault
    scores = recorded_scores(fault)
    try:
        scores = together(fault, training.sample())
    except NoSample as why:
        problem, coming = MAKING if why.coming else f"The further runs are not there. {why}", why.coming
    used = min(runs, len(scores.without))
    facts = AuditFacts(
        fault=fault,
        way=estimator,
        chart=chart,
        delta=delta,
        runs=used,
        available=len(scores.without),
        wanted=runs,
        claim=claim(fault, delta),
        shown=shown(scores, used, delta),
        one_run=one_run_shown(fault, delta),
        problem=problem,
        coming=coming,
        made=record_of(fault).made,
    )
    return Answer(error_rates(facts, scores) if chart == "roc" else along_runs(facts, scores), facts)


def along_runs(f: AuditFacts, scores: Scores) -> LinePlot:
    """Bounds and the estimate by the first runs, more and more of them."""
    stops = np.unique(np.append(np.linspace(RUNS.low, f.available, POINTS).round(), f.runs)).astype(int)
    each = [shown(scores, stop, f.delta) for stop in stops.tolist()]
    joint, interval, fit = (np.array([getattr(one, way) for one in each]) for way in ("joint", "interval", "fit"))
    lines = (
        Line("joint", "both counts", stops, joint, look.SOLID, color=BOUNDS["joint"], write=numbers.down),
        Line("interval", "Clopper–Pearson", stops, interval, look.SOLID, color=BOUNDS["interval"], write=numbers.down),
        Line("fit", "Gaussian fit ≈", stops, fit, look.SOLID, color=look.ORANGE, approximate=True),
        Line(
            "one_run", "one run", stops, np.full(len(stops), f.one_run), look.SOLID, color=BOUNDS["one_run"],
            write=numbers.down,
        ),
    )  # fmt: skip
    # An estimate of a few runs may be many times as large as any other value: it may leave the chart.
    top = 1.15 * max(f.claim, float(np.max([joint, interval])), float(fit[-1]), f.one_run, f.value)
    ring = Ring(f.runs, f.value, f"ε of {f.runs} runs a side", BOUNDS.get(f.way, look.ORANGE), sets=(RUNS, None))
    return LinePlot(
        Axis(
            "runs with the canary, and as many without", name="runs", kind="steps", hover="%{x:,d} runs a side",
            shown=(0.0, float(f.available)),
        ),
        Axis("ε that the runs show, at least", name="ε", shown=(0.0, top), write=numbers.down),
        lines,
        rings=(ring,),
        guides=(Guide("y", f.claim, f"claimed: ε = {numbers.up(f.claim)}"),),
        end_values=False,
        summary=f"{f.runs} runs a side show {f.written} by the chosen estimator; claimed: {numbers.up(f.claim)}.",
    )  # fmt: skip


def error_rates(f: AuditFacts, scores: Scores) -> LinePlot:
    """False alarms and hits of all thresholds on the counted runs, and of the chosen one with its intervals."""
    mechanism, steps = plan(f.fault)
    profile = quick_profile(mechanism, steps, 120)
    x = np.unique(np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 160), np.linspace(0.0, 1.0, 101)]))
    best = dpviz.profile_roc(x, epsilon=profile.epsilon, delta=np.clip(profile.upper, 0.0, 1.0))
    used, counts = scores.first(f.runs), f.shown.counts
    cuts = np.sort(np.append(used.without, used.with_it))[::-1]
    rates = [np.array([float(f.shown.attack._replace(threshold=cut).counts(*used)[k]) for cut in cuts]) for k in (0, 2)]
    alarms, hits = (np.append(0.0, each / f.runs) for each in rates)
    order = np.lexsort((hits, alarms))
    each = each_of_two()
    most, least = (end(counts.alarms, counts.without, each) for end in (highest_rate, lowest_rate))
    ring = Ring(
        counts.false_alarm_rate,
        counts.hit_rate,
        f"false alarms {numbers.tenths(counts.false_alarm_rate)} ({numbers.tenths(least)} to {numbers.tenths(most)}), "
        f"hits {numbers.tenths(counts.hit_rate)}",
        look.BROWN,
        lowest_rate(counts.hits, counts.with_it, each),
        highest_rate(counts.hits, counts.with_it, each),
        name="chosen threshold",
    )
    across = Line(
        "interval", "", [least, most], [counts.hit_rate] * 2, look.SOLID, color=look.BROWN, end="", kept=False,
        label="interval of false alarms",
    )  # fmt: skip
    return LinePlot(
        Axis(
            "false alarms: said “in”, but was out", name="false alarms", column="false_alarms", kind="plain",
            shown=(0.0, 1.0), hover="false alarms %{x:.4~r}", marks=(0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8),
        ),
        Axis(
            "hits: said “in”, and was in", name="hits", column="hits", kind="share", shown=(0.0, 1.02),
            write=numbers.tenths,
        ),
        (
            Line(Tight.name, "best that the claim allows", x, best, Tight.name),
            Line(
                "measured", "this attack", alarms[order], hits[order], look.SOLID, color=look.ORANGE, approximate=True
            ),
            across,
            Line("guess", "guessing", x, x, look.SOLID, color=look.GREY, approximate=True, kept=False),
        ),
        rings=(ring,),
        end_values=False,
        summary="Above the curve of the best attack, beyond what chance explains, the claim is false.",
    )  # fmt: skip


def headline(f: AuditFacts) -> str:
    claimed = f"the claim is ε ≤ {numbers.up(f.claim)} at {setting(DELTA_AUDIT, 'δ =', numbers.delta(f.delta))}"
    what = f"One run with {one_run_guesses(f.fault).canaries} canaries shows" if f.way == "one_run" else (
        f"With {setting(RUNS, numbers.steps(f.runs), 'runs')} a side, the attack shows"
    )  # fmt: skip
    if f.way == "fit":
        return f"If scores are normal, {what[0].lower()}{what[1:]} <b>ε ≈ {f.written}</b>; {claimed}."
    verdict = ": <b>something is wrong</b>" if f.seen else ": no contradiction"
    return f"{what} <b>ε ≥ {f.written}</b>; {claimed}{verdict}."


def metrics(f: AuditFacts) -> Iterator[Metric]:
    counts = f.shown.counts
    yield Metric("Claimed ε", numbers.up(f.claim), f"PLD, at δ = {numbers.delta(f.delta)}")
    interval = f"Clopper–Pearson alone: ≥ {numbers.down(f.shown.interval)}; {100 * CONFIDENCE:.0f} % each"
    yield Metric("Both counts together", f"≥ {numbers.down(f.shown.joint)}", interval)
    rates = f"hits {counts.hits} of {counts.with_it}, false alarms {counts.alarms} of {counts.without}"
    yield Metric("Gaussian fit", f"≈ {numbers.plain(f.shown.fit)}", f"an estimate; {rates}")
    guesses = one_run_guesses(f.fault)
    right = f"{guesses.right} of {guesses.guesses} guesses right; {guesses.canaries} canaries"
    yield Metric("One run, many canaries", f"≥ {numbers.down(f.one_run)}", right)


def notes(f: AuditFacts) -> Iterator[Note]:
    if f.problem:
        yield Note(f.problem, "caution" if f.coming else "problem")
    if f.wanted > f.available:
        there = f"{numbers.steps(f.available)} runs a side are there with this setting, and all of them are used."
        yield Note(there, "caution")
    fault = FAULTS[f.fault]
    if f.fault == HONEST:
        yield Note(fault.why)
    elif f.way == "fit":
        yield Note(f"{fault.words}. An estimate settles nothing: choose a bound to see whether it is found.")
    elif f.seen:
        yield Note(f"{fault.words}, and this audit sees it. {fault.why}", "caution")
    else:
        yield Note(f"{fault.words}, and this audit does not see it with so many runs at this δ. {fault.why}", "caution")
    if f.way == "one_run" and f.one_run == 0.0:
        m = one_run_guesses(f.fault).canaries
        yield Note(
            f"One run with m = {m} canaries shows nothing at this δ: its theorem adds a term of up to 2mδ = "
            f"{numbers.plain(2.0 * m * f.delta)}. Choose δ = 1e-5.",
            "caution",
        )
    if f.delta < 1e-3:
        yield Note(
            "At δ = 1e-5 the claim is larger, and about 20,000 runs a side would be needed to show half of it: what "
            "makes it so large are events that are hardly ever seen.",
            "caution",
        )
    yield Note(f"Recorded runs: {f.made}. make papers repeats them; a bound says nothing about attacks nobody tried.")


def formulas(f: AuditFacts) -> Iterator[Formula]:
    counts, each = f.shown.counts, each_of_two()
    hits, alarms = lowest_rate(counts.hits, counts.with_it, each), highest_rate(counts.alarms, counts.without, each)
    yield Formula(
        "Two rates, each at its worse end (Clopper & Pearson 1934; Kairouz, Oh, Viswanath 2015, Theorem 2.1)",
        rf"\varepsilon \ge \ln\frac{{\underline{{h}} - \delta}}{{\overline{{a}}}},\quad \underline h ="
        rf" {numbers.tex(hits)},\ \overline a = {numbers.tex(alarms)}",
    )
    yield Formula(
        "One run (Steinke, Nasr & Jagielski 2023, Theorem 5.2)",
        r"\Pr[V \ge v] \le \Pr[W \ge v] + 2m\delta \max_i \tfrac1i \Pr[v > W \ge v - i],\quad"
        r" W \sim \mathrm{Bin}\left(r, \tfrac{e^\varepsilon}{1 + e^\varepsilon}\right)",
    )


ASSUMPTIONS = f"""
- **A run** is one step of a one-layer network by PrivateTraining, of which the attacker sees the weights. Its claim is
  that of the plan with secret noise: ε ≤ 2 at δ = 0.01. Two hundred canaries share a layer, each with or without: their
  gradients are orthogonal, so what is seen of one does not depend on the others, and each counts as a run.
- **The canary** is the worst example: its gradient is longer than C, and nobody else's lies along it. The attack is the
  likelihood ratio of the canary in and out, which is the best one for honest runs.
- **Threshold:** a quarter of all runs chooses it, of the others those used are counted: the choice does not favour it.
- **Bounds** hold with {100 * CONFIDENCE:.0f} % each, rounded down. One audit in twenty may exceed the true ε by chance,
  and whoever looks again and again as runs are added is wrong more often.
- **The Gaussian fit** assumes that scores are normal with one spread. They are not here, so it may lie above the claim
  though nothing is wrong.
- **Below the claim** an audit proves nothing: better attacks may exist, and faults that this canary does not show.
"""


def faults_table(answer: Answer[AuditFacts]) -> list[Block]:
    """A row a fault, by the runs used."""
    f = answer.facts
    return [pd.DataFrame(fault_rows(f.runs, f.delta))]


def layout(get: Reader) -> Layout:
    one_run = get(WAY) == "one_run"
    several = () if one_run else (RUNS, FieldControl((MORE,), drawn_as="audit_runs"))
    return {"Question": (FAULT, WAY, DELTA_AUDIT, *several, SHOW)}


AUDIT = Question(
    "audit",
    "What does an audit show?",
    audit,
    Words(headline, metrics, notes, formulas, ASSUMPTIONS),
    asks="value",
    settings={"training": EXTRA},
    layout=layout,
    more={"All faults": faults_table},
)

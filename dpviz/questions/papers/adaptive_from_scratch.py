"""Lécuyer 2021, Figs. 1b to 1d: runs whose noise or batch a policy adapts, from scratch; from the author's records."""

from collections.abc import Iterator
from dataclasses import dataclass

from dpviz.charts import Axis, Guide, LinePlot, look
from dpviz.fields import numbers
from dpviz.questions import Answer, Formula, Metric, Note, Words
from dpviz.questions.papers.adaptive_accounts import AS_PLOTTED, EPOCHS, EPSILON, RECORDS, SOUND, by_epoch, span, spent
from dpviz.questions.printed.filters import RUNS

ADAPTIVE = {"1b": ("noise", "batch"), "1c": ("noise",), "1d": ("batch",)}  # figure → the policies that it is about
SHOWN = {"baseline": 0, "noise": 3, "batch": 1}  # the runs that the plotting code chooses where it draws one


@dataclass(frozen=True)
class ScratchFacts:
    """What the runs cost.

    Attributes:
        part: the figure.
        planned: ε of 100 epochs of the baseline, as plotted.
        epochs: of each adaptive run.
        plotted: ε of each, as plotted.
        charged: ε of each by a filter at one order, with everything charged.
    """

    part: str
    planned: float
    epochs: tuple[int, ...]
    plotted: tuple[float, ...]
    charged: tuple[float, ...]

    @property
    def lengths(self) -> str:
        """The fewest and the most epochs."""
        return f"{min(self.epochs)} to {max(self.epochs)}"


def from_scratch(part: str) -> Answer[ScratchFacts]:
    """ε of all runs, σ or batch of one of each."""
    runs = [run for policy in ADAPTIVE[part] for run in RUNS[policy]]
    facts = ScratchFacts(
        part=part,
        planned=spent(AS_PLOTTED, RUNS["baseline"][0], False)[-1],
        epochs=tuple(run.epochs for run in runs),
        plotted=tuple(spent(AS_PLOTTED, run, False)[-1] for run in runs),
        charged=tuple(spent(SOUND, run, True)[-1] for run in runs),
    )
    if part == "1b":
        return Answer(budget_plot(facts.planned), facts)
    if part == "1c":
        return Answer(schedule_plot(part, 0, Axis("noise σ", shown=(0.9, 1.85))), facts)
    return Answer(schedule_plot(part, 1, Axis("batch size", shown=(128.0, 550.0))), facts)


def budget_plot(planned: float) -> LinePlot:
    """Fig. 1b: what the plotting code charges all runs. The five baselines cost the same; one is drawn."""
    lines = []
    for policy, runs in RUNS.items():
        longest = max(run.epochs for run in runs)
        for i, run in enumerate(runs[:1] if policy == "baseline" else runs):
            lines.append(
                by_epoch(
                    f"{policy}_{i}",
                    f"{policy} {i + 1}",
                    spent(AS_PLOTTED, run, False),
                    look.SOLID,
                    color=look.POLICIES[policy],
                    approximate=policy != "baseline",
                    end=policy if run.epochs == longest else "",
                )
            )
    longest_run = max(RUNS["noise"], key=lambda run: run.epochs)
    everything = spent(SOUND, longest_run, True)
    lines.append(by_epoch("charged", "noise, all charged", everything, SOUND.family))
    guides = (Guide("y", planned, "100 baseline epochs", noted=False),)
    return LinePlot(EPOCHS, EPSILON, tuple(lines), guides=guides)


def schedule_plot(part: str, which: int, axis: Axis) -> LinePlot:
    """Figs. 1c and 1d: σ (the first of a run's two settings) or batch size of the baseline and of one adaptive run."""
    lines = []
    for policy in ("baseline", *ADAPTIVE[part]):
        values = [float(pair[which]) for pair in RUNS[policy][SHOWN[policy]].by_epoch()]
        lines.append(by_epoch(policy, policy, values, look.SOLID, color=look.POLICIES[policy]))
    return LinePlot(EPOCHS, axis, tuple(lines))


def headline(f: ScratchFacts) -> str:
    return (
        f"The adaptive runs take {f.lengths} epochs. The plots charge them <b>ε = {span(f.plotted)}</b>; if everything "
        f"is charged, a filter at one order needs <b>{span(f.charged)}</b>."
    )


def metrics(f: ScratchFacts) -> Iterator[Metric]:
    yield Metric("Baseline, 100 epochs", numbers.up(f.planned, 4), "as plotted")
    yield Metric("Adaptive, as plotted", span(f.plotted), "by the best order of each")
    yield Metric("Adaptive, all charged", span(f.charged), "one order, 4.5; improved conversion")
    yield Metric("Epochs", f.lengths, "100 for the baseline")


def notes(_: ScratchFacts) -> Iterator[Note]:
    yield RECORDS


def formulas(_: ScratchFacts) -> Iterator[Formula]:
    yield Formula("As plotted", r"\varepsilon = \min_\alpha \sum_t R_t(\alpha) + \frac{\ln(1/\delta)}{\alpha-1}")
    yield Formula("Filter at one order (Lécuyer 2021, Theorem 1)", r"\sum_t R_t(4.5) \le B")


WORDS = Words(headline, metrics, notes, formulas)

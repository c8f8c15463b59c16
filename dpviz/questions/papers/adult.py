"""Fig. 3 of Li, Chen, Liu, Carin 2019: accuracy on Adult against ε, of one posterior sample, the hybrid and DP-SGLD."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpviz.charts import look
from dpviz.charts.marks import Guide, Line, Ring
from dpviz.charts.plot import Axis, LinePlot
from dpviz.experiments.adult import BATCH, CLIP, DELTA, EXAMPLES, STANDARD, STEPS
from dpviz.fields import numbers
from dpviz.questions.answer import Answer, Metric, Note
from dpviz.questions.layout import Groups, Reader, experts
from dpviz.questions.listing import Listing
from dpviz.questions.papers.claims import HEADS, WIDTHS, row
from dpviz.questions.papers.fields import ACCOUNTED
from dpviz.questions.printed import CLAIMS
from dpviz.questions.printed.adult import ArmResult, adult_record, reached
from dpviz.questions.question import Block, Question
from dpviz.questions.shared import IMAGE

METHODS = {
    "sample": ("One posterior sample", look.GREEN),
    "composed": ("Hybrid, steps composed", look.MAUVE),
    "wang": ("Hybrid, Wang's steps", look.BROWN),
    "sgld": ("DP-SGLD", look.BLUE),
}


@dataclass(frozen=True)
class AdultFacts:
    """What each method reached and what that cost, by method and ascending ε; the accuracy without privacy."""

    reached: dict[str, tuple[ArmResult, ...]]
    baseline: ArmResult

    @property
    def standard(self) -> ArmResult:
        """DP-SGLD with the standard sampler's steps."""
        return self.reached["sgld"][-1]

    def within(self, method: str, epsilon: float) -> ArmResult | None:
        """The most accurate of a method that costs no more; None where each costs more."""
        some = [one for one in self.reached[method] if one.epsilon <= epsilon * (1.0 + 1e-6)]
        return max(some, key=lambda one: one.mean) if some else None


def adult(*, accounted: str) -> Answer[AdultFacts]:
    """Mean accuracy of ten recorded runs against what they cost, `accounted` as in `ArmResult`."""
    facts = AdultFacts({method: reached(method, accounted) for method in METHODS}, reached("baseline", accounted)[0])
    costs = [one.epsilon for found in facts.reached.values() for one in found]
    shown = (0.5 * min(costs), 1.25 * max(costs))
    lines, rings = [], []
    for method, (name, color) in METHODS.items():
        found = facts.reached[method]
        x, y = np.array([one.epsilon for one in found]), np.array([one.mean for one in found])
        if method == "sgld":  # with more to spend the steps stay those of the standard sampler
            x, y = np.append(x, shown[1]), np.append(y, y[-1])
        lines.append(Line(method, name, x, y, "moments", color=color, write=percent))
        rings += [ring(one, name, color) for one in found]
    plot = LinePlot(
        Axis("ε", column="epsilon", log=True, shown=shown, hover="ε = %{x:.3~g}", write=numbers.plain),
        Axis("test accuracy", column="test_accuracy", shown=(0.755, 0.855), write=percent),
        tuple(lines),
        rings=tuple(rings),
        guides=(
            Guide("y", facts.baseline.mean, "standard SGLD, not private"),
            Guide("x", facts.standard.epsilon, "its steps, clipped", told=False),
        ),
        end_values=False,
        names_on_lines=True,
        said=f"Without privacy {percent(facts.baseline.mean)}.",
    )
    return Answer(plot, facts)


def ring(one: ArmResult, name: str, color: str) -> Ring:
    """A mean over seeds with its standard deviation."""
    text = f"{name}: ε = {short(one.epsilon)}, {percent(one.mean)} ± {points(one.deviation)}<br>{one.runs} runs"
    return Ring(one.epsilon, one.mean, text, color, one.mean - one.deviation, one.mean + one.deviation)


def percent(share: float) -> str:
    return f"{100.0 * share:.1f} %"


def points(share: float) -> str:
    """A difference of two shares, in percentage points."""
    return f"{100.0 * share:.2f}"


def short(epsilon: float) -> str:
    return numbers.epsilon(epsilon, up=True)


def headline(a: Answer[AdultFacts]) -> str:
    f = a.facts
    said = (
        f"The standard sampler's steps cost <b>ε = {short(f.standard.epsilon)}</b>, where the paper says about 0.3; "
        f"clipped they reach <b>{percent(f.standard.mean)}</b>, unclipped {percent(f.baseline.mean)}."
    )
    other = f.within("sample", f.standard.epsilon)
    if other is None:
        return said
    return f"{said} One posterior sample within that ε reaches <b>{percent(other.mean)}</b>."


def metrics(a: Answer[AdultFacts]) -> list[Metric]:
    f = a.facts
    found = [
        Metric("Standard SGLD", percent(f.baseline.mean), f"not private, ± {points(f.baseline.deviation)} points"),
        Metric("DP-SGLD, standard steps", percent(f.standard.mean), f"ε = {short(f.standard.epsilon)}"),
    ]
    for method in ("sample", "composed"):
        name, best = METHODS[method][0], f.within(method, f.standard.epsilon)
        if best is not None:
            found.append(Metric(name, percent(best.mean), f"ε = {short(best.epsilon)}, best within that"))
    return found


EXACT = Note(
    "One posterior sample has this ε if it is exact. Here it is, up to rounding: drawn by rejection, without a chain. "
    "A sample by MCMC is not: within τ of the posterior in total variation, on every data set, it would be "
    "(ε, (1 + e^ε)τ)-DP, and where τ is not bounded no ε holds.",
    "caution",
)
MIXED = Note(
    "As printed, the curves are not about one thing: posterior samples and Wang et al.'s steps are counted for one "
    "example replaced, DP-SGLD for one added or removed. The other two choices count all alike.",
    "caution",
)


def notes(a: Answer[AdultFacts]) -> list[Note]:
    mixed = [MIXED] if a.given["accounted"] == "printed" else []
    made = f"Recorded: {adult_record().made}."
    return [*mixed, EXACT, Note(f"{made} PATE, the paper's fourth curve, is not among them: it has a view of its own.")]


def below(a: Answer[AdultFacts]) -> list[Block]:
    """What the paper prints about this figure, and what comes out."""
    said = [claim for claim in CLAIMS if claim.key.startswith("sg-fig3")]
    return [Listing(HEADS, tuple(row(c, None if c.recompute is None else c.recompute()) for c in said), WIDTHS)]


def formulas(a: Answer[AdultFacts]) -> list[tuple[str, str]]:
    sample = a.facts.reached["sample"][-1]
    return [
        (
            "One posterior sample, replacing an example: ‖v‖ ≤ 1, ‖θ‖ ≤ R",
            r"\theta \sim \pi(\theta)\prod_i \sigma(v_i^\top\theta)^\rho,\quad \varepsilon = 2\rho R;"
            r"\quad \text{printed: } 4\rho\ln(1+e^R)",
        ),
        ("The sample of the largest ε", rf"\rho = {sample.settings['epsilon'] / 16.0:g},\quad R = 8"),
        (
            "DP-SGLD",
            rf"\sigma_t = \frac{{\tau}}{{L\sqrt{{\eta_t N}}}} = \frac{{{BATCH}}}{{{CLIP:g}\sqrt{{{EXAMPLES}\,\eta_t}}}}"
            rf",\quad \eta_t = \eta_1 t^{{-1/3}},\quad T = {STEPS}",
        ),
        ("Hybrid", r"\varepsilon = \varepsilon_{\text{sample}} + \varepsilon_{\text{steps}}(\delta)"),
    ]


def layout(get: Reader) -> Groups:
    return {"Question": (ACCOUNTED,), "Show": experts(IMAGE)}


ASSUMPTIONS = f"""
- **Data:** UCI Adult, {EXAMPLES} people to train, 16 281 to test; 48 features and a one. δ = {numbers.delta(DELTA)}, as
  in the paper; posterior samples have δ = 0.
- **DP-SGLD:** Algorithm 1 with η₁ t^(−1/3), L = {CLIP:g}, T = N, q = 1/√N and a standard Gaussian prior; the standard
  sampler has η₁ = {STANDARD:g} and no clipping. The paper names these values, but not for this figure.
- **Posterior samples:** rows of norm 1, parameters in a ball of radius 8 under a standard Gaussian prior. The radius
  was chosen by trial on this data, which no ε here covers. How many draws rejection took says something about the data
  and must not be told.
- **Hybrid** (Wang, Fienberg, Smola 2015): half of ε for a posterior sample, then 3256 steps from there, by their
  theorem or as large as composing allows for the other half. Drawn is what both parts cost together.
- **Predictions** of a chain are means over the second half of its samples. Error bars are standard deviations.
- **Recorded runs** have known seeds: they show what is reached, and protect nobody.
"""

ADULT_FIGURE: Question[AdultFacts] = Question(
    key="sg_figure3",
    option="adult",
    title="SG-MCMC, Fig. 3: accuracy on Adult against ε",
    settings={"accounted": ACCOUNTED},
    answer=adult,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=ASSUMPTIONS,
    layout=layout,
    below=below,
)

"""SG-MCMC, Fig. 3: accuracy on Adult against ε. Ten recorded runs of each arm (Li, Chen, Liu, Carin 2019)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from dpviz.charts import Axis, Guide, Line, LinePlot, Ring, look
from dpviz.fields import choice, numbers
from dpviz.questions import Answer, Block, Formula, Metric, Note, Question, Words
from dpviz.questions.papers.claims import listing
from dpviz.questions.printed import CLAIMS
from dpviz.questions.printed.adult import ArmResult, adult_record, reached_on_adult

METHODS = {  # method → its name and colour
    "sample": ("One posterior sample", look.GREEN),
    "composed": ("Hybrid, steps composed", look.MAUVE),
    "wang": ("Hybrid, Wang's steps", look.BROWN),
    "sgld": ("DP-SGLD", look.BLUE),
}
RADIUS = 8.0  # of the ball that parameters of posterior samples lie in


@dataclass(frozen=True)
class AdultFacts:
    """What the samplers reach.

    Attributes:
        baseline: standard SGLD, which is not private.
        standard: DP-SGLD with its steps.
        sample, composed: the most accurate posterior sample, and hybrid, that costs no more; None where each does.
        power: ρ of the posterior sample of the largest ε.
        made: how the runs were recorded.
        accounted: what ε is for, as in `reached_on_adult`.
    """

    baseline: ArmResult
    standard: ArmResult
    sample: ArmResult | None
    composed: ArmResult | None
    power: float
    made: str
    accounted: str


def adult(*, accounted: Annotated[str, choice("pacc")]) -> Answer[AdultFacts]:
    """Mean accuracy against what the runs cost."""
    results = {method: reached_on_adult(method, accounted) for method in METHODS}
    [baseline] = reached_on_adult("baseline", accounted)
    standard = results["sgld"][-1]
    costs = [one.epsilon for arms in results.values() for one in arms]
    shown = (0.5 * min(costs), 1.25 * max(costs))
    lines = []
    for method, arms in results.items():
        name, color = METHODS[method]
        x, y = [one.epsilon for one in arms], [one.mean for one in arms]
        if method == "sgld":  # the standard sampler's steps stay these where more may be spent
            x, y = [*x, shown[1]], [*y, standard.mean]
        lines.append(Line(method, name, x, y, look.SOLID, color=color, write=numbers.tenths))
    plot = LinePlot(
        x=Axis("ε", column="epsilon", log=True, hover="ε = %{x:.3~g}", shown=shown),
        y=Axis("test accuracy", column="test_accuracy", kind="share", shown=(0.755, 0.855), write=numbers.tenths),
        lines=tuple(lines),
        rings=tuple(ring(method, one) for method, arms in results.items() for one in arms),
        guides=(
            Guide("y", baseline.mean, "standard SGLD, not private"),
            Guide("x", standard.epsilon, "its steps, clipped", noted=False),
        ),
        end_values=False,
        names_on_lines=True,
        summary=f"Without privacy {numbers.tenths(baseline.mean)}.",
    )
    facts = AdultFacts(
        baseline=baseline,
        standard=standard,
        sample=within(results["sample"], standard.epsilon),
        composed=within(results["composed"], standard.epsilon),
        power=results["sample"][-1].settings["epsilon"] / (2.0 * RADIUS),
        made=adult_record().made,
        accounted=accounted,
    )
    return Answer(plot, facts)


def within(arms: tuple[ArmResult, ...], epsilon: float) -> ArmResult | None:
    """The most accurate of those that cost no more; None where each costs more."""
    affordable = (one for one in arms if one.epsilon <= epsilon * (1.0 + 1e-6))
    return max(affordable, key=lambda one: one.mean, default=None)


def ring(method: str, one: ArmResult) -> Ring:
    """A mean over seeds with its standard deviation."""
    name, color = METHODS[method]
    text = f"{name}: ε = {numbers.up(one.epsilon)}, {numbers.tenths(one.mean)} ± {one.points}<br>{one.runs} runs"
    return Ring(one.epsilon, one.mean, text, color, one.mean - one.deviation, one.mean + one.deviation)


def headline(f: AdultFacts) -> str:
    standard = (
        f"The steps of the standard sampler cost <b>ε = {numbers.up(f.standard.epsilon)}</b> (printed: about 0.3) and "
        f"reach <b>{numbers.tenths(f.standard.mean)}</b>"
    )
    if f.sample is None:
        return f"{standard}."
    return f"{standard}; one posterior sample within that ε reaches <b>{numbers.tenths(f.sample.mean)}</b>."


def metrics(f: AdultFacts) -> Iterator[Metric]:
    yield Metric("Standard SGLD", numbers.tenths(f.baseline.mean), f"not private, ± {f.baseline.points} points")
    yield Metric("DP-SGLD, standard steps", numbers.tenths(f.standard.mean), f"ε = {numbers.up(f.standard.epsilon)}")
    for method, best in (("sample", f.sample), ("composed", f.composed)):
        if best is not None:
            cost = f"ε = {numbers.up(best.epsilon)}, best within that"
            yield Metric(METHODS[method][0], numbers.tenths(best.mean), cost)


def notes(f: AdultFacts) -> Iterator[Note]:
    if f.accounted == "printed":
        yield Note(
            "As printed, the curves have different neighbours: posterior samples and the steps of Wang et al. are for "
            "one example replaced, DP-SGLD is for one added or removed. The other two choices treat all curves alike.",
            "caution",
        )
    yield Note(
        "One posterior sample has this ε if it is exact. Here it is exact up to rounding, because it is drawn by "
        "rejection, without a chain. A sample by MCMC is not exact: if its total variation distance from the posterior "
        "is at most τ on every data set, it is (ε, (1 + exp(ε))τ)-DP; without a bound on τ, no ε holds.",
        "caution",
    )
    yield Note(f"Recorded: {f.made}. PATE, the paper's fourth curve, has its own view.")


def formulas(f: AdultFacts) -> Iterator[Formula]:
    yield Formula(
        "One posterior sample, replacing an example: ‖v‖ ≤ 1, ‖θ‖ ≤ R",
        r"\theta \sim \pi(\theta)\prod_i \sigma(v_i^\top\theta)^\rho,\quad \varepsilon = 2\rho R;\quad"
        r" \text{printed: } 4\rho\ln(1+e^R)",
    )
    yield Formula("The sample of the largest ε", rf"\rho = {f.power:g},\quad R = {RADIUS:g}")
    yield Formula(
        "DP-SGLD",
        r"\sigma_t = \frac{\tau}{L\sqrt{\eta_t N}} = \frac{180}{1\sqrt{32561\,\eta_t}},\quad"
        r" \eta_t = \eta_1 t^{-1/3},\quad T = 32561",
    )
    yield Formula("Hybrid", r"\varepsilon = \varepsilon_{\text{sample}} + \varepsilon_{\text{steps}}(\delta)")


ASSUMPTIONS = """
- **Data:** UCI Adult, 32561 people to train, 16 281 to test; 48 features and a constant 1. δ = 1e-4, as
  in the paper; posterior samples have δ = 0.
- **DP-SGLD:** Algorithm 1 with η₁/∛t, L = 1, T = N, q = 1/√N and a standard Gaussian prior; the standard
  sampler has η₁ = 0.1 and no clipping. The paper names these values, but not for this figure.
- **Posterior samples:** rows of norm 1, parameters in a ball of radius 8 under a standard Gaussian prior. The radius
  was chosen by trial on this data, which no ε here covers. The number of draws that rejection needed depends on the
  data and must not be published.
- **Hybrid** (Wang, Fienberg, Smola 2015): half of ε for a posterior sample, then 3256 steps from there with the other
  half. Their size follows from their theorem, or it is the largest that composition allows. The chart shows the cost of
  both parts.
- **Predictions** of a chain are means over the second half of its samples. Error bars are standard deviations.
- **Recorded runs** have known seeds: they show what is reached but protect nobody.
"""


def printed_claims(_: Answer[AdultFacts]) -> list[Block]:
    """What the paper prints of the figure."""
    return [listing([claim for claim in CLAIMS if claim.key.startswith("sg-fig3")])]


ADULT_FIGURE = Question(
    "sg_figure3",
    "SG-MCMC, Fig. 3: accuracy on Adult against ε",
    adult,
    Words(headline, metrics, notes, formulas, ASSUMPTIONS),
    asks="standard",
    below=printed_claims,
    option="adult",
)

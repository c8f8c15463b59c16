"""DP-SGD, Theorem 1: how much noise is needed, and which logarithm do moments save (Abadi et al. 2016)?"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from dpviz import library as dpviz
from dpviz.accounting.methods import Basic, ClosedForm, Moments, Strong
from dpviz.accounting.no_answer import NoAnswer
from dpviz.charts import Axis, Column, Guide, Line, LinePlot
from dpviz.fields import number, numbers
from dpviz.questions import DELTA, RATE, SIZE, STEPS, Answer, Formula, Metric, Note, Question, Words, setting, units
from dpviz.questions.mechanism import PUBLIC_SIZE, shown_steps
from dpviz.questions.methods import coarse

EPSILON = number("pteps")
MOST_STEPS = 1e7
POINTS, FEW = 25, 9  # at rest, and while a hand moves: nearly straight lines


@dataclass(frozen=True)
class LeastNoiseFacts:
    """The least noise, and the theorem's constants that go with it.

    Attributes:
        noise_multiplier: the least σ by the moments accountant; NaN where none is enough.
        strong: the least σ by strong composition.
        c2: σ ε/(q√(T ln(1/δ))).
        saved: √ln(T/δ), the factor of standard composition.
        epsilon: the target.
        steps: T, at most those that the chart shows.
        cut: whether T is larger.
    """

    noise_multiplier: float
    strong: float
    c2: float
    saved: float
    epsilon: float
    sample_rate: float
    steps: float
    cut: bool

    @property
    def c1(self) -> float:
        """ε/(q²T), which the theorem's c₁ must exceed."""
        return self.epsilon / (self.sample_rate**2 * self.steps)


def main_theorem(
    *,
    sample_rate: Annotated[float, RATE],
    steps: Annotated[int, STEPS],
    delta: Annotated[float, DELTA],
    epsilon: Annotated[float, EPSILON],
) -> Answer[LeastNoiseFacts]:
    """Least σ against T by the moments accountant and by strong composition, beside the theorem's two forms."""
    if sample_rate == 0.0:
        raise ValueError("With q = 0, no example is used and no noise is needed: choose a sampling rate above 0.")
    here = min(float(steps), MOST_STEPS)
    points = FEW if coarse() else POINTS
    x = np.unique(np.round([*np.geomspace(max(here / 1e3, 1.0), min(here * 1e2, MOST_STEPS), points), here]))
    setting = {"target_epsilon": epsilon, "sample_rate": sample_rate, "delta": delta}
    moments, strong = (
        np.array([least_noise(method, steps=each, **setting) for each in x]) for method in (Moments.name, Strong.name)
    )
    form = sample_rate * np.sqrt(x * -math.log(delta)) / epsilon
    constants, saved = moments / form, np.sqrt(np.log(x / delta))
    at = int(np.flatnonzero(x == here)[0])
    c2 = float(constants[at])
    constant = Column("c₂ here", constants, key="c2")
    standard = c2 * form * saved
    plot = LinePlot(
        Axis("steps T", name="steps", log=True, kind="steps", hover="%{x:,d} steps", write=numbers.steps),
        Axis("least noise σ", column="noise_multiplier", log=True, write=numbers.up),
        (
            Line(Moments.name, "moments accountant", x, moments, Moments.name, hover=(constant,)),
            Line("theorem1", "c₂ q√(T ln(1/δ))/ε", x, c2 * form, ClosedForm.name, approximate=True, kept=False),
            Line("standard", "× √ln(T/δ)", x, standard, Basic.name, approximate=True, kept=False),
            Line(Strong.name, "strong composition", x, strong, Strong.name),
        ),
        guides=(
            Guide(
                "x", here, f"T = {numbers.short_steps(here)}", noted=False, sets=None if steps > MOST_STEPS else STEPS
            ),
        ),
        end_values=False,
    )
    facts = LeastNoiseFacts(
        noise_multiplier=float(moments[at]),
        strong=float(strong[at]),
        c2=c2,
        saved=float(saved[at]),
        epsilon=epsilon,
        sample_rate=sample_rate,
        steps=here,
        cut=steps > MOST_STEPS,
    )
    return Answer(plot, facts)


def least_noise(method: str, **setting: Any) -> float:
    """The least σ that the method accepts; NaN where there is none."""
    try:
        return float(dpviz.solve("noise_multiplier", method=method, **setting))
    except NoAnswer:
        return math.nan


def headline(f: LeastNoiseFacts) -> str:
    if math.isnan(f.noise_multiplier):
        return (
            "No noise lets the moments accountant prove this ε, because its orders end at λ = 32: <b>raise ε or δ</b>."
        )
    target = setting(EPSILON, "ε =", numbers.entered(f.epsilon))
    return (
        f"For {target} after {shown_steps(f.steps)}, the moments accountant needs "
        f"<b>σ ≥ {numbers.up(f.noise_multiplier)}</b>, so <b>c₂ = {numbers.plain(f.c2)}</b>; strong composition needs "
        f"<b>{numbers.up(f.strong)}</b>."
    )


def metrics(f: LeastNoiseFacts) -> Iterator[Metric]:
    yield Metric("c₂", numbers.plain(f.c2), "σ ε/(q√(T ln(1/δ)))")
    yield Metric("c₁ must exceed", numbers.at_most(f.c1), "ε/(q²T)")
    yield Metric("Factor saved", f"× {numbers.plain(f.saved)}", "standard composition: √ln(T/δ)")
    yield Metric("Strong ÷ moments", f"× {numbers.plain(f.strong / f.noise_multiplier)}", "ratio of the noise needed")


def notes(f: LeastNoiseFacts) -> Iterator[Note]:
    yield Note(
        "Dashed: the theorem's form with the c₂ for this T, and the same times √ln(T/δ). The theorem says that such "
        "constants exist but does not give them. Where the blue curve leaves the form, another c₂ is needed."
    )
    if f.cut:
        yield Note("The chart ends at 10 million steps, and T is set to this value.", "caution")


FORMULAS = (
    Formula(
        "Abadi et al. 2016, Theorem 1",
        r"\varepsilon < c_1 q^2 T:\quad \sigma \ge c_2\,\frac{q\sqrt{T\ln(1/\delta)}}{\varepsilon}",
    ),
    Formula(
        "Standard composition",
        r"\sigma = \Omega\!\left(\frac{q\sqrt{T\ln(1/\delta)\,\ln(T/\delta)}}{\varepsilon}\right)",
    ),
)
ASSUMPTIONS = f"""
- **Poisson sampling**, add or remove one example, Gaussian noise on the sum of clipped gradients.
- **Moments accountant:** λ ≤ 32, as the paper computes it. **Strong composition:** the exact rule for sampling.
- The condition with c₁ limits ε: the form is right for many steps that cost little each. The chart shows where it
  fails.
{PUBLIC_SIZE}"""

MAIN_THEOREM = Question(
    "theorem1",
    "DP-SGD, Theorem 1: how much noise?",
    main_theorem,
    Words(headline, metrics, notes, lambda _: FORMULAS, ASSUMPTIONS),
    asks="noise_multiplier",
    layout=lambda get: {"Question": ("epsilon",), "Mechanism": (units.ALL, units.suggested(SIZE, get))},
)

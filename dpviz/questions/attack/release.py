"""One release of one number, answer or choice, with and without you: what can be told from it?"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array, Bools
from dpviz.accounting.attack.one_release import Laws, NoiseLaws, StepLaws, answers, chosen
from dpviz.accounting.methods import Tight
from dpviz.charts import Area, Axis, Guide, Line, LinePlot, Scatter, look
from dpviz.fields import choice, number, numbers
from dpviz.mechanisms import Laplace, RandomisedResponse, SampledGaussian
from dpviz.questions import (
    DELTA,
    Answer,
    FieldControl,
    Formula,
    Layout,
    Metric,
    Note,
    Question,
    Reader,
    Words,
    experts,
    setting,
)
from dpviz.questions.attack.town_release import SEED
from dpviz.questions.guessing import limit
from dpviz.questions.mechanism import shown_delta

EPSILON = number("oneband")
KIND, TRUTH, SCALE = choice("onekind"), number("onetruth"), number("onescale")
SENSITIVITY, PEOPLE, ROUNDING = number("onesens"), number("onepeople"), number("oneround")
CANDIDATES, LEAD = number("onecandidates"), number("onelead")
THRESHOLD, DRAWS = number("onecut"), number("onedraws")
BINS = 60  # of the whole chart, into which draws fall
AXES = {
    "response": "number of answers “yes”",
    "laplace": "released number; 0 is the true one without you",
    "gaussian": "released number; 0 is the true one without you",
    "exponential": "released candidate: places behind the best",
}


@dataclass(frozen=True)
class ReleaseFacts:
    """Settings, and what they cost.

    Attributes:
        epsilon: of the band.
        largest: ε at δ = 0, of all `people` together: exact, but for the exponential mechanism an upper bound, which
            holds for all scores; inf for none.
        at_delta: ε at δ, from above.
        own_epsilon: the largest privacy loss of the outcomes on the chart, where these are few.
        outside: δ at the band's ε, from above.
        success: right guesses of the best attack at even odds, from above.
        false_alarms, hits: how often the chosen threshold accuses you while you are out, and while you are in.
        right: right guesses of that threshold among the draws.
    """

    kind: str
    truth: float
    scale: float
    sensitivity: float
    people: int
    apart: float
    epsilon: float
    delta: float
    threshold: float
    rounding: float
    draws: int
    largest: float
    at_delta: float
    own_epsilon: float
    outside: float
    success: float
    false_alarms: float
    hits: float
    right: int

    @property
    def pure(self) -> bool:
        """Whether ε holds at δ = 0."""
        return math.isfinite(self.largest)

    @property
    def chooses(self) -> bool:
        """Whether a candidate is released, and its ε is an upper bound for all scores."""
        return self.kind == "exponential"

    @property
    def best(self) -> str:
        """Right guesses of the best attack, rounded up, but for what floating point adds."""
        return numbers.chance_up(self.success * (1.0 - numbers.FLOATING))

    @property
    def accuracy(self) -> float:
        """Right guesses of the chosen threshold at even odds."""
        return 0.5 * (1.0 + self.hits - self.false_alarms)


def laws_of(
    kind: str, truth: float, scale: float, shift: float, people: int, scores: Array, rounding: float
) -> tuple[Laws, Laws]:
    """Both laws of the output as it is made, and as it is released: rounded, where it is a number with noise."""
    if kind == "response":
        laws = answers(RandomisedResponse(truth), people)
        return laws, laws
    if kind == "exponential":
        laws = chosen(scores, scale=scale, change=shift)
        return laws, laws
    noise = NoiseLaws((Laplace if kind == "laplace" else SampledGaussian)(scale / shift), shift)
    return noise, noise.rounded(rounding) if rounding else noise


def release(
    *,
    kind: Annotated[str, KIND],
    truth: Annotated[float, TRUTH],
    scale: Annotated[float, SCALE],
    sensitivity: Annotated[float, SENSITIVITY],
    people: Annotated[int, PEOPLE],
    candidates: Annotated[int, CANDIDATES],
    apart: Annotated[float, LEAD],
    rounding: Annotated[float, ROUNDING],
    epsilon: Annotated[float, EPSILON],
    delta: Annotated[float, DELTA],
    threshold: Annotated[float, THRESHOLD],
    draws: Annotated[int, DRAWS],
    seed: Annotated[int, SEED],
) -> Answer[ReleaseFacts]:
    """Both laws of the output, the band of e^ε around the one without you, and draws, each with you by a fair coin."""
    shift = people * sensitivity
    made, shown = laws_of(kind, truth, scale, shift, people, -apart * np.arange(float(candidates)), rounding)
    largest = {
        "response": people * RandomisedResponse(truth).epsilon,
        "laplace": shift / scale,
        "gaussian": math.inf,
        "exponential": 2.0 * shift / scale,
    }[kind]
    at_delta = largest
    if kind == "gaussian":
        at_delta = float(dpviz.epsilon(Tight.name, mechanism=SampledGaussian(scale / shift), steps=1, delta=delta))
    uniform, coins = np.random.default_rng(seed).random((int(DRAWS.high), 2))[:draws].T
    outputs, present = shown.draw(uniform, coins < 0.5), coins < 0.5
    false_alarms, hits = shown.above(threshold)
    facts = ReleaseFacts(
        kind=kind,
        truth=truth,
        scale=scale,
        sensitivity=sensitivity,
        people=people,
        apart=apart,
        epsilon=epsilon,
        delta=delta,
        threshold=threshold,
        rounding=rounding,
        draws=draws,
        largest=largest,
        at_delta=at_delta,
        own_epsilon=shown.epsilon if kind == "exponential" and isinstance(shown, StepLaws) else largest,
        outside=min(made.delta(epsilon), shown.delta(epsilon)) if epsilon * (1.0 + 1e-12) < largest else 0.0,
        success=dpviz.attack_success(largest) if kind == "exponential" else 0.5 * (1.0 + made.delta(0.0)),
        false_alarms=false_alarms,
        hits=hits,
        right=int(np.count_nonzero((outputs > threshold) == present)),
    )
    return Answer(drawing(facts, shown, outputs, present), facts)


def drawing(f: ReleaseFacts, laws: Laws, outputs: Array, present: Bools) -> LinePlot:
    """Densities, the band, what leaves it at the top, the attacker's threshold, and the draws on piles."""
    x, without, there = laws.curves
    low, high = laws.extent
    ratio = math.exp(f.epsilon)
    top = 1.25 * float(max(without.max(), there.max()))
    who = "you" if f.people == 1 else f"the {f.people}"
    names = (f"without {who}", f"with {who}") if f.kind != "response" else ("truth: no", "truth: yes")
    band = Area(x, without / ratio, without * ratio, look.GREY, 0.16, f"band of ε = {numbers.entered(f.epsilon)}")
    left = Area(x, without * ratio, np.maximum(there, without * ratio), look.RED, 0.45)
    return LinePlot(
        x=Axis(AXES[f.kind], name="output", shown=(low, high), hover="output %{x:,.4~r}", write=four_digits),
        y=Axis("probability" if isinstance(laws, StepLaws) and not f.rounding else "density", shown=(0.0, top)),
        lines=(
            Line("without", names[0], x, without, look.SOLID, color=look.BLUE, kept=False),
            Line("with", names[1], x, there, look.SOLID, color=look.ORANGE),
        ),
        dots=tuple(piles(f, laws, outputs, present, names)),
        areas=(band, left),
        guides=(Guide("x", f.threshold, "says “in” above", sets=THRESHOLD),),
        end_values=False,
        summary=(
            f"Two laws of one output. At ε = {numbers.entered(f.epsilon)} the law with {who} leaves the band around "
            f"the law without by at most δ = {numbers.delta(f.outside)}. The threshold finds "
            f"{numbers.tenths(f.hits)} with {numbers.tenths(f.false_alarms)} false alarms."
        ),
    )


def four_digits(x: float) -> str:
    return numbers.plain(x, digits=4)


def piles(f: ReleaseFacts, laws: Laws, outputs: Array, present: Bools, names: tuple[str, str]) -> Iterator[Scatter]:
    """Draws as dots on piles, as high as the mean of both densities where there are many."""
    low, high = laws.extent
    fine = (high - low) / BINS
    if isinstance(laws, StepLaws):
        width = float(np.diff(laws.edges)[0])
        abreast = max(1, round(0.7 * width / fine))  # columns of one outcome
        place = np.floor((outputs - laws.edges[0]) / width).astype(int)
    else:
        width, abreast = fine, 1
        place = np.floor((outputs - low) / width).astype(int)
    before = np.array([np.count_nonzero(place[:i] == at) for i, at in enumerate(place.tolist())], dtype=int)
    x = outputs + (before % abreast - 0.5 * (abreast - 1)) * fine
    y = (before // abreast + 0.5) * abreast / (max(outputs.size, 1) * width)
    inside = (x >= low) & (x <= high)
    for member, name, color in ((False, names[0], look.BLUE), (True, names[1], look.ORANGE)):
        here = inside & (present == member)
        yield Scatter(x[here], y[here], f"draws {name}", color)


def headline(f: ReleaseFacts) -> str:
    what = f"<b>ε ≤ {numbers.at_most(f.at_delta)}</b> at {'δ = 0' if f.pure else shown_delta(f.delta)}"
    if f.kind == "response":
        how = f"Answers that are true with {setting(TRUTH, 'p =', numbers.entered(f.truth))}"
    else:
        how = f"A release with noise of {setting(SCALE, 'scale', numbers.entered(f.scale))}"
    cost = "costs" if f.kind != "response" else "cost"
    of = "" if f.people == 1 else f" for {setting(PEOPLE, str(f.people), 'people')} together"
    return f"{how} {cost} {what}{of}: {limit('attack', f.success, f.best)}."


def metrics(f: ReleaseFacts) -> Iterator[Metric]:
    at = "exact, at δ = 0" if f.pure else f"at δ = {numbers.delta(f.delta)}; none at δ = 0"
    if f.chooses:
        at = f"for all scores; for these {numbers.at_most(f.own_epsilon)}"
    at += f", {f.people} people" * (f.people > 1)
    yield Metric("ε", f"≤ {numbers.at_most(f.at_delta)}", at)
    scope = "for these scores" if f.chooses else "area outside the band"
    outside = f"≤ {numbers.delta(f.outside)}" if f.outside else "0"
    yield Metric(f"δ at ε = {numbers.entered(f.epsilon)}", outside, scope)
    yield Metric("This threshold finds", numbers.tenths(f.hits), f"{numbers.tenths(f.false_alarms)} false alarms")
    counted = f"{f.right} of {f.draws} draws" if f.draws else "no draws"
    yield Metric("It is right", numbers.tenths(f.accuracy), f"{counted}; chance: 50 %")


def notes(f: ReleaseFacts) -> Iterator[Note]:
    if f.outside == 0.0:
        yield Note("The law with you stays inside the band: this ε holds with δ = 0.")
    elif f.outside > 0.0:
        yield Note(
            "The red area is where the law with you leaves the band. Its size is δ. A larger ε makes it smaller."
        )
    if f.rounding and f.kind in ("laplace", "gaussian"):
        yield Note("Rounding uses nothing but the released number, so ε and δ of the release still hold.")
    if f.chooses:
        yield Note(
            "The chart shows the data set without you that is easiest to tell from these scores. The ε of these scores "
            "depends on the data, so it is no guarantee."
        )
    if f.kind == "response" and f.people > 1:
        yield Note(f"The {f.people} people have the same true answer, and the attacker counts how many say “yes”.")


def formulas(f: ReleaseFacts) -> Iterator[Formula]:
    value, k = numbers.tex_up(f.largest), f.people
    if f.kind == "response":
        yield Formula(
            "Randomised response (Warner 1965)", rf"\varepsilon = k\,\ln\frac{{p}}{{1-p}} = {value},\quad k = {k}"
        )
    elif f.kind == "laplace":
        yield Formula("Laplace mechanism (Dwork et al. 2006)", rf"\varepsilon = \frac{{k\Delta}}{{b}} = {value}")
    elif f.chooses:
        yield Formula(
            "Exponential mechanism (McSherry & Talwar 2007)",
            rf"\Pr[j] \propto e^{{u_j/b}},\quad \varepsilon \le \frac{{2k\Delta}}{{b}} = {value}",
        )
        yield Formula(
            "These scores, over all neighbours",
            r"\max_j \ln\left((1-p_j)\,e^{2k\Delta/b} + p_j\right) =" f" {numbers.tex_up(f.own_epsilon)}",
        )
    else:
        yield Formula(
            "Gaussian mechanism, exact (Balle & Wang 2018, Theorem 8)",
            r"\delta(\varepsilon) = \Phi\left(\tfrac{k\Delta}{2\sigma} - \tfrac{\varepsilon\sigma}{k\Delta}\right) -"
            r" e^{\varepsilon}\,\Phi\left(-\tfrac{k\Delta}{2\sigma} - \tfrac{\varepsilon\sigma}{k\Delta}\right)"
            rf" ,\quad \delta({numbers.entered(f.epsilon)}) \le {numbers.tex_up(f.outside)}",
        )
    yield Formula(
        "Right guesses of the threshold, at even odds",
        rf"\tfrac12\left(1 + \Pr_\text{{in}}[y > t] - \Pr_\text{{out}}[y > t]\right) = {f.accuracy:.4g}",
    )


ASSUMPTIONS = """
- **The attacker** knows everything but one bit: whether you took part (for randomised response: which answer is true).
  The mechanism and its noise are known.
- **One release.** More releases of the same data add up: the page Compose.
- **Sensitivity Δ** is a promise about the data, made before they are seen: no person can change the number, or any
  score, by more. k people together change it by up to kΔ.
- **ε** is exact for randomised response, Laplace noise and Gaussian noise at its δ. For the exponential mechanism it is
  an upper bound for all scores. Numbers after “≤” are rounded up.
- **Ideal noise:** real numbers without gaps. The noise of a computer needs care in its last digits (Mironov 2012).
- **Draws** come from the seed. Each is a release with you or without you, by a fair coin.
"""


def layout(get: Reader) -> Layout:
    kind = get(KIND)
    noisy = {
        "response": (TRUTH,),
        "laplace": (SCALE, SENSITIVITY),
        "gaussian": (SCALE, SENSITIVITY, DELTA),
        "exponential": (SCALE, SENSITIVITY, CANDIDATES, LEAD),
    }[kind]
    rounds = (ROUNDING,) if kind in ("laplace", "gaussian") else ()
    return {
        "Question": (KIND, *noisy, PEOPLE, EPSILON, *rounds),
        "Attacker": (THRESHOLD, FieldControl((DRAWS,), runs=True), *experts(SEED)),
    }


RELEASE = Question(
    "release",
    "What does one release tell?",
    release,
    Words(headline, metrics, notes, formulas, ASSUMPTIONS),
    asks="at_delta",
    layout=layout,
)

"""The path of a Langevin chain over the posterior that it should sample, and what its steps cost: does it get there?

The model is a straight line, y = a + bx + noise of variance s², with a flat prior, on a data set that is made once. Its
posterior is normal, with mean (XᵀX)⁻¹Xᵀy and covariance s²(XᵀX)⁻¹. An example's gradient is −(y − a − bx)(1, x)/s².
Clipping it to L clips the residual: that is the gradient of Huber's loss. So each loss stays convex and as smooth, and
the bound on the last point alone holds for clipped steps as well.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from dpviz._arrays import Array, Whole
from dpviz._remember import remembered
from dpviz.accounting.langevin.cost import Langevin
from dpviz.accounting.langevin.last_iterate import ConvexLoss, last_iterate_bound
from dpviz.accounting.schedules import PowerSchedule
from dpviz.charts import Axis, Line, LinePlot, Ring, Scatter, look
from dpviz.fields import number, numbers
from dpviz.questions import Answer, Formula, Metric, Note, Words, setting
from dpviz.questions.langevin import chain as sampler
from dpviz.questions.langevin import words
from dpviz.questions.langevin.chain import FIRST, Chain
from dpviz.questions.langevin.cost import (
    StepsCostFacts,
    composed,
    epsilon_with_other_noise,
    steps_alone,
    tight_interval,
    why_excluded,
)
from dpviz.questions.langevin.facts import step_marks
from dpviz.questions.langevin.shared import controls, four_digits, langevin_question, with_plot
from dpviz.questions.mechanism import shown_delta, shown_steps

SEED = number("aseed", help="Seed of the batches and of the noise. The data set stays the same.")
NOISE = 3.0  # s, of y
TRUTH = 0.15, -0.1  # a and b with which the data are made
LEFT, RIGHT = -0.5, 1.0  # of x
SMOOTHNESS = (1.0 + RIGHT**2) / NOISE**2  # of each example's loss
DATA_SEED = 2015
LEAST_EXAMPLES = 3
MOST_EXAMPLES, MOST_STEPS, MOST_GRADIENTS = 1_000_000, 20_000, 4_000_000
POINTS = 500  # points of the path, at most
REACH = {
    "68 %": math.sqrt(-2.0 * math.log(0.32)),
    "95 %": math.sqrt(-2.0 * math.log(0.05)),
}  # of ellipses, in deviations


class LinePosterior(NamedTuple):
    """The law that the chain should sample: mean, shape (2,), and covariance, shape (2, 2), of a and b."""

    mean: Array
    covariance: Array

    def distance(self, points: Array) -> Array:
        """Mahalanobis distances of points, shape (n, 2), from the mean: (n,)."""
        away = points - self.mean
        return np.asarray(np.sqrt(np.einsum("ni,ij,nj->n", away, np.linalg.inv(self.covariance), away)))


@dataclass(frozen=True, eq=False, kw_only=True)
class PosteriorFacts(StepsCostFacts):
    """What the steps cost, all points of the path released, and where they lie.

    Attributes:
        posterior: the law without clipping.
        path: points after each of the simulated steps, shape (steps, 2).
        clipped: the share of gradients at the posterior's mean that clipping shortens.
        last_point: ε of the last point alone, never above that of all; NaN where nothing is proven.
    """

    posterior: LinePosterior
    path: Array
    clipped: float
    last_point: float

    @property
    def kept(self) -> Array:
        """The second half of the path: the first is for finding the posterior."""
        return self.path[len(self.path) // 2 :]

    @property
    def inside(self) -> float:
        """The share of the second half within the ellipse of 95 %."""
        return float(np.mean(self.posterior.distance(self.kept) <= REACH["95 %"]))

    @property
    def spread(self) -> float:
        """The width of the second half ÷ that of the posterior: the root of the ratio of their ellipses' areas."""
        about = np.cov(self.kept.T) if len(self.kept) > 1 else np.zeros((2, 2))
        ratio = max(float(np.linalg.det(about) / np.linalg.det(self.posterior.covariance)), 0.0)
        return math.sqrt(math.sqrt(ratio))

    @property
    def whole(self) -> bool:
        """Whether all steps are simulated."""
        return len(self.path) == self.chain.steps


@remembered
def data(n: int) -> tuple[Array, Array]:
    """x and y of the first `n` examples, shape (n,) each."""
    uniform = np.random.default_rng(DATA_SEED).random((n, 2))
    x = LEFT + (RIGHT - LEFT) * uniform[:, 0]
    return x, TRUTH[0] + TRUTH[1] * x + NOISE * ndtri(uniform[:, 1])


def posterior_of(n: int) -> LinePosterior:
    x, y = data(n)
    design = np.stack([np.ones(n), x])
    covariance = NOISE**2 * np.linalg.inv(design @ design.T)
    return LinePosterior(covariance @ (design @ y) / NOISE**2, covariance)


def longest_residual(x: Array, clip: float) -> Array:
    """|y − a − bx| beyond which the gradient is longer than L, (n,)."""
    return np.asarray(clip * NOISE**2 / np.sqrt(1.0 + x**2))


@remembered
def path_of(chain: Langevin, schedule: PowerSchedule, seed: int) -> Array:
    """Points after each step from (0, 0), shape (steps, 2): Poisson batches, clipped gradients, and the chain's noise.

    With friction β the momentum is p ← (1 − β)p + step; without, β = 1.
    """
    steps = schedule.steps
    x, y = data(int(chain.n))
    ends, batch = batches_of(seed, int(chain.n), chain.sample_rate, steps)
    x, y, most = x[batch], y[batch], longest_residual(x, chain.clip)[batch]
    sizes = schedule.at(np.arange(1.0, steps + 1.0))
    noise = _streams(seed)[1].standard_normal((steps, 2)) * np.sqrt(chain.heat * sizes / chain.n)[:, None]
    kept = 1.0 - (1.0 if chain.friction is None else chain.friction)
    scale = sizes / (chain.batch_size * NOISE**2)
    a = b = moved_a = moved_b = 0.0  # two floats take a tenth of the time of an array of two
    start = 0
    path = []
    for end, by, (noise_a, noise_b) in zip(ends.tolist(), scale.tolist(), noise.tolist(), strict=True):
        along, limit = x[start:end], most[start:end]
        residual = y[start:end] - a - b * along
        residual = np.minimum(np.maximum(residual, -limit), limit)
        moved_a = kept * moved_a + by * float(residual.sum()) + noise_a
        moved_b = kept * moved_b + by * float(along @ residual) + noise_b
        a, b = a + moved_a, b + moved_b
        path.append((a, b))
        start = end
    return np.array(path)


def _streams(seed: int) -> list[np.random.Generator]:
    """Of the batches and of the noise, one each: a shorter path is a longer one's start."""
    return np.random.default_rng(seed).spawn(2)


@remembered
def batches_of(seed: int, n: int, rate: float, steps: int) -> tuple[Whole, npt.NDArray[np.int32]]:
    """Where each step's batch ends, (steps,), and the examples of all batches: each joins each with this probability.

    The gaps between those that join are geometric, so none that stays out is looked at.
    """
    rng, mean = _streams(seed)[0], rate * n * steps
    at = np.zeros(0)
    while at.size == 0 or at[-1] < n * steps:
        gaps = rng.geometric(rate, size=math.ceil(mean + 8.0 * math.sqrt(mean) + 20.0))
        at = np.append(at, (at[-1] if at.size else -1) + np.cumsum(gaps))
    at = at[at < n * steps].astype(np.int64)
    return np.searchsorted(at, n * np.arange(1, steps + 1)), (at % n).astype(np.int32)


def posterior(chain: Chain, *, seed: Annotated[int, SEED]) -> Answer[PosteriorFacts]:
    """The path of the chain over the ellipses of the posterior.

    Raises:
        ValueError: more examples than are made, or too few; a batch larger than the data; a thermostat.
    """
    if not LEAST_EXAMPLES <= chain.n <= MOST_EXAMPLES:
        raise ValueError(f"N: {chain.n:.12g} is not between {LEAST_EXAMPLES} and {MOST_EXAMPLES} here; try 50000.")
    if chain.sampler == "sgnht":
        raise ValueError("The thermostat of SGNHT is not simulated here. Choose SGLD or SGHMC; SGHMC costs the same.")
    n = int(chain.n)
    most = min(MOST_STEPS, max(int(MOST_GRADIENTS / chain.batch_size), 1))
    steps = min(chain.steps, most)
    ahead = min(1 << (steps - 1).bit_length(), most)  # one path for many numbers of steps
    spent = composed(chain, step_marks(chain.steps))
    x, y = data(n)
    law = posterior_of(n)
    away = np.abs(y - law.mean[0] - law.mean[1] * x)
    facts = PosteriorFacts(
        chain=chain,
        composed=spent,
        other=epsilon_with_other_noise(chain),
        last=None,
        excluded="",
        posterior=law,
        path=path_of(chain.setting, PowerSchedule(chain.step_size, chain.exponent, ahead), seed)[:steps],
        clipped=float(np.mean(away > longest_residual(x, chain.clip))),
        last_point=last_point(chain, float(spent.improved.epsilon[-1])),
    )
    return Answer(plot(facts), facts)


def last_point(chain: Chain, every: float) -> float:
    """ε of the last point alone, at most that of all; NaN where nothing is proven."""
    loss = ConvexLoss(SMOOTHNESS)
    if why_excluded(chain, loss):
        return math.nan
    bound = last_iterate_bound(chain.setting, chain.step_size, loss, marks=[chain.steps], delta=chain.delta)
    return min(float(bound.epsilon[0]), every)


def plot(f: PosteriorFacts) -> LinePlot:
    """The posterior's ellipses, points of the path, those of its first half grey, and the last one as a ring."""
    middle, every = len(f.path) // 2, max(math.ceil(len(f.path) / POINTS), 1)
    first, kept = f.path[:middle:every], f.path[middle::every]
    end = f.path[-1]
    edges = [ellipse(f.posterior, reach) for reach in REACH.values()]
    seen = np.concatenate([first, kept, f.path[-1:], *(np.stack([x, y], 1) for x, *ys in edges for y in ys)])
    low, high = seen.min(axis=0), seen.max(axis=0)
    air = 0.04 * (high - low)
    lines = []
    for (name, _), (x, lower, upper), color in zip(REACH.items(), edges, (look.GREEN, look.BROWN), strict=True):
        whole = f"{name} of the posterior"
        for side, y in (("upper", upper), ("lower", lower)):
            more: dict[str, Any] = {} if side == "upper" else {"end": ""}
            key = f"{side}_{name.split()[0]}"
            lines.append(Line(key, whole, x, y, look.SOLID, color=color, label=f"{name}, {side} edge", **more))
    return LinePlot(
        Axis("intercept a", column="intercept", shown=(low[0] - air[0], high[0] + air[0]), write=four_digits),
        Axis("slope b", column="slope", shown=(low[1] - air[1], high[1] + air[1]), write=four_digits),
        tuple(lines),
        dots=(
            Scatter(first[:, 0], first[:, 1], "first half of the path", look.GREY, size=4.0),
            Scatter(kept[:, 0], kept[:, 1], "second half", look.BLUE, size=4.0),
        ),
        rings=(Ring(float(end[0]), float(end[1]), "the last point", look.ORANGE, name="last"),),
        end_values=False,
        names_on_lines=True,
        summary=(
            f"The path of {len(f.path)} steps over the posterior's ellipses: {numbers.tenths(f.inside)} of its second "
            f"half within the one of 95 %, and {numbers.percent(f.spread)} as wide as the posterior."
        ),
    )


def ellipse(law: LinePosterior, reach: float) -> tuple[Array, Array, Array]:
    """x, lower and upper edge of the ellipse of so many deviations, shape (n,) each."""
    (var, cov), (_, other) = law.covariance
    turn = np.cos(np.linspace(math.pi, 0.0, 61))  # closer where the edge is steep
    half = np.sqrt(np.maximum((other - cov**2 / var) * (1.0 - turn**2), 0.0)) * reach
    x, middle = turn * reach * math.sqrt(var), turn * reach * cov / math.sqrt(var)
    return law.mean[0] + x, law.mean[1] + middle - half, law.mean[1] + middle + half


def headline(f: PosteriorFacts) -> str:
    chain = f.chain
    size = f"{setting(FIRST, numbers.entered(chain.step_size))}{' · t<sup>−1/3</sup>' if chain.exponent else ''}"
    return (
        f"{shown_steps(chain.steps)} of size η = {size} cost <b>ε ≤ {numbers.up(f.epsilon)}</b> at "
        f"{shown_delta(chain.delta)}; the cloud is <b>{numbers.percent(f.spread)}</b> as wide as the posterior."
    )


def claimed(f: PosteriorFacts) -> str:
    """What is known of the claim; an ellipsis while the tight interval, which may decide, is not there."""
    if f.best <= f.chain.claim:
        verdict = "holds"
    elif f.tight is None:
        verdict = "…"
    else:
        verdict = "too low" if f.refuted else "not proven"
    return f"claimed {numbers.entered(f.chain.claim)}: {verdict}"


def metrics(f: PosteriorFacts) -> Iterator[Metric]:
    yield Metric("Within the 95 % ellipse", numbers.tenths(f.inside), "of the path's second half")
    yield Metric("Width of the cloud", numbers.percent(f.spread), "of the posterior's")
    yield Metric("All points released", f"ε ≤ {numbers.up(f.epsilon)}", claimed(f))
    if math.isnan(f.last_point):
        yield Metric("Last point alone", "none proven", "no more than all points")
    else:
        yield Metric("Last point alone", f"ε ≤ {numbers.up(f.last_point)}", "if nothing else is shown")


def notes(f: PosteriorFacts) -> Iterator[Note]:
    if not f.whole:
        yield Note(
            f"The chart shows the first {numbers.steps(len(f.path))} of {numbers.steps(f.chain.steps)} steps. "
            "ε is that of all steps; width and share are of the points shown.",
            "caution",
        )
    if f.clipped:
        yield Note(
            f"Clipping shortens {numbers.tenths(f.clipped)} of the gradients at the posterior's mean, so the chain "
            "samples the posterior of Huber's loss instead of the ellipses'. ε counts the clipped steps, and would "
            "be too low for steps without clipping."
        )
    if f.spread > 1.1:
        yield Note(
            "The cloud is too wide: batches add noise of their own, the more the larger the steps, and a path that has "
            "not arrived is wide too."
        )
    yield from words.notes(f.chain)


def formulas(f: PosteriorFacts) -> Iterator[Formula]:
    (a, b), n = f.posterior.mean.tolist(), numbers.tex(f.chain.n)
    yield Formula(
        "Posterior of a straight line, flat prior",
        r"\mathcal N\!\left((X^\top X)^{-1}X^\top y,\; s^2 (X^\top X)^{-1}\right),\quad"
        rf" s = {NOISE:g},\; N = {n},\; (a, b) = ({a:.4g}, {b:.4g})",
    )
    yield words.noise_of_a_step(f.chain)
    yield Formula(
        "Gradient of an example, clipped to L",
        r"g_i = -\frac{1}{s^2}\,\mathrm{clip}\!\left(y_i - a - b x_i,\; \frac{L s^2}{\sqrt{1 + x_i^2}}\right)(1, x_i)",
    )


def assumptions(f: PosteriorFacts) -> str:
    return f"""
- **The data** are made once, by a fixed seed: x between {LEFT} and {RIGHT:g}, y = {TRUTH[0]} − {-TRUTH[1]} x with
  normal noise of standard deviation {NOISE:g}. The chain starts at (0, 0), whatever the data.
- **The chart is no release:** the ellipses are computed from the data without noise. Only the points are released.
- **Width and share** are of the second half of one path, by its seed. Points that follow each other are alike, so a
  short path says little. The cloud is compared with the posterior without clipping.
- **Last point alone:** for steps of one size. Each loss is convex with smoothness {SMOOTHNESS:.3g}, clipped or not.
{words.assumptions(f.chain).strip()}
"""


LAYOUT = controls(  # of the sampler, as far as it is simulated; the accountant of step sizes has no part in it
    without=lambda _: (sampler.CONVERSION,),
    options=lambda _: (SEED,),
    sizes=(float(LEAST_EXAMPLES), float(MOST_EXAMPLES)),
)

POSTERIOR = langevin_question(
    "posterior",
    "Does the chain find the posterior?",
    posterior,
    Words(headline, metrics, notes, formulas, assumptions),
    asks="spread",
    layout=LAYOUT,
    slow=(with_plot(steps_alone, tight_interval, plot),),
)

"""Secret bits rebuilt from noisy counts (Dinur & Nissim 2003), and the ε of the same noise: can the data be rebuilt?"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
from scipy.special import ndtr

from dpviz._arrays import Array, Bools
from dpviz.accounting.attack.reconstruction import Rebuilt, rebuild
from dpviz.accounting.pld.single_step import gaussian_epsilons
from dpviz.charts import Axis, Column, Guide, Line, LinePlot, Ring, Scatter, look
from dpviz.fields import Number, choice, number, numbers
from dpviz.questions import (
    DELTA,
    Answer,
    Block,
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
from dpviz.questions.mechanism import shown_delta

AGAINST, BITS, COUNTS, SIGMA = choice("ragainst"), number("rbits"), number("rcounts"), number("rsigma")
WIDE = 20  # bits in a row of the picture
NOISES = np.geomspace(0.1, 1000.0, 49)


@dataclass(frozen=True, eq=False)
class ReconstructionFacts:
    """Settings, and what the attack makes of the counts.

    Attributes:
        secret, rebuilt: the bits, (n,) each.
        mean: the share of right bits, over many noises.
        epsilon: of all counts at δ, from above.
        most: the share of right bits that μ allows any attack on average.
    """

    against: str
    bits: int
    counts: int
    noise_std: float
    delta: float
    secret: Bools
    rebuilt: Bools
    mean: float
    epsilon: float
    most: float

    @property
    def right(self) -> int:
        """How many bits the attack has right."""
        return int(np.count_nonzero(self.secret == self.rebuilt))

    @property
    def mu(self) -> float:
        """μ of all counts together: each is a Gaussian mechanism of sensitivity 1."""
        return math.sqrt(self.counts) / self.noise_std


def reconstruction(
    *,
    bits: Annotated[int, BITS],
    counts: Annotated[int, COUNTS],
    noise_std: Annotated[float, SIGMA],
    delta: Annotated[float, DELTA],
    against: Annotated[str, AGAINST],
    seed: Annotated[int, SEED],
) -> Answer[ReconstructionFacts]:
    """The share of bits that least squares has right, and the most that the privacy of the same counts allows."""
    attack = rebuild(bits=bits, counts=counts, seed=seed)
    facts = ReconstructionFacts(
        against,
        bits,
        counts,
        noise_std,
        delta,
        attack.secret,
        attack.guess(noise_std),
        float(attack.mean_share(np.array([noise_std]))[0][0]),
        float(prices(counts, np.array([noise_std]), delta)[0]),
        float(most_right(counts, noise_std)),
    )
    if against == "counts":
        last = min(max(4.0 * bits, 2.0 * counts), COUNTS.high)
        m = np.unique(np.append(np.geomspace(max(bits / 8, 1.0), last, 16).round(), counts))
        return Answer(along_counts(facts, m, seed), facts)
    sigma = np.unique(np.append(NOISES, noise_std))
    return Answer(along_noise(facts, sigma, attack), facts)


def prices(counts: Array | float, noise_std: Array, delta: float) -> Array:
    """ε of so many counts at each noise, from above, (n,): together they are one Gaussian mechanism."""
    return gaussian_epsilons(noise_std / np.sqrt(counts), delta)[1]


def most_right(counts: Array | float, noise_std: Array | float) -> Array:
    """The expected share of right bits of any attack, at most: Φ(μ/2) for each bit, a fair coin."""
    return np.asarray(ndtr(0.5 * np.sqrt(counts) / noise_std))


def along_noise(f: ReconstructionFacts, sigma: Array, attack: Rebuilt) -> LinePlot:
    """Against σ, or against the ε that σ costs."""
    mean, low, high = attack.mean_share(sigma)
    epsilon = prices(f.counts, sigma, f.delta)
    most = most_right(f.counts, sigma)
    if f.against == "sigma":
        x, place, sets = sigma, f.noise_std, SIGMA
        axis = Axis("noise σ of each count", name="σ", log=True, hover="σ = %{x:,.4~r}", shown=(0.1, 1000.0))
        fact = Column("ε", epsilon)
        guides = [Guide("x", math.sqrt(f.bits), f"√n = {numbers.plain(math.sqrt(f.bits))}")]
    else:
        order = np.argsort(epsilon)
        x, mean, low, high, most = (values[order] for values in (epsilon, mean, low, high, most))
        place, sets, guides = f.epsilon, None, []
        axis = Axis("ε of all counts", name="ε", log=True, hover="ε = %{x:,.4~r}", shown=(0.01, 1e4))
        fact = Column("σ", sigma[order])
    return share_plot(f, axis, lines(x, (mean, low, high), most, fact), place, sets, guides)


def along_counts(f: ReconstructionFacts, m: Array, seed: int) -> LinePlot:
    """Against the number of counts, the noise of each being the same."""
    sigma, whole = np.array([f.noise_std]), [int(count) for count in m.tolist()]
    shares = [rebuild(bits=f.bits, counts=count, seed=seed).mean_share(sigma) for count in whole]
    mean, low, high = (np.array([each[k][0] for each in shares]) for k in range(3))
    epsilon = prices(m, sigma, f.delta)
    most = most_right(m, f.noise_std)
    axis = Axis("counts m", name="m", log=True, kind="steps", hover="m = %{x:,d}", shown=(float(m[0]), float(m[-1])))
    curves = lines(m, (mean, low, high), most, Column("ε", epsilon))
    guides = [Guide("x", float(f.bits), f"n = {f.bits}")]
    return share_plot(f, axis, curves, float(f.counts), COUNTS, guides)


def lines(x: Array, shares: tuple[Array, Array, Array], most: Array, fact: Column) -> tuple[Line, ...]:
    """The attack's mean over noises with its spread, and what any attack can reach."""
    mean, low, high = shares
    about = "By the μ of the counts: the share of right bits that any attack can expect."
    return (
        Line("rebuilt", "least squares", x, mean, look.SOLID, color=look.ORANGE, spread=(low, high), hover=(fact,)),
        Line(
            "most",
            "any attack, on average",
            x,
            most,
            look.SOLID,
            color=look.GREEN,
            kept=False,
            write=numbers.chance_up,
            about=about,
        ),
    )


def share_plot(
    f: ReconstructionFacts,
    axis: Axis,
    curves: tuple[Line, ...],
    place: float,
    sets: Number | None,
    guides: list[Guide],
) -> LinePlot:
    """The curves, this release as a ring, and guessing."""
    share = f.right / f.bits
    text = f"this release: {f.right} of {f.bits} bits"
    ring = Ring(place, share, text, look.ORANGE, name=numbers.tenths(share), sets=(sets, None))
    return LinePlot(
        x=axis,
        y=Axis(
            "share of bits that are right", column="right", shown=(0.3, 1.03), write=partial(numbers.percent, digits=4)
        ),
        lines=curves,
        rings=(ring,),
        guides=(*guides, Guide("y", 0.5, "guessing")),
        end_values=False,
        summary=f"This release: {f.right} of {f.bits} bits are right.",
    )


def picture(answer: Answer[ReconstructionFacts]) -> list[Block]:
    """The secret bits, and beside them what was rebuilt: full dots are ones, and wrong ones are red."""
    f = answer.facts
    at = np.arange(f.bits)
    column, row = at % WIDE, at // WIDE
    wrong = f.secret != f.rebuilt
    rows = math.ceil(f.bits / WIDE)
    dots = []
    for bits, start, red, name in (
        (f.secret, 0, np.zeros_like(wrong), "secret"),
        (f.rebuilt, WIDE + 3, wrong, "rebuilt"),
    ):
        for one in (True, False):
            for false in (False, True):
                here = (bits == one) & (red == false)
                words = f"{name}: {'one' if one else 'zero'}{', wrong' * false}"
                color = look.RED if false else look.BLUE
                dots.append(Scatter(column[here] + start, row[here], words, color, size=8.0, hollow=not one))
    ones = int(np.count_nonzero(f.secret))
    return [
        LinePlot(
            x=Axis("left: secret bits; right: rebuilt", name="column", shown=(-1.0, 2.0 * WIDE + 3.0)),
            y=Axis("row", shown=(-1.0, float(rows))),
            lines=(),
            dots=tuple(dots),
            summary=f"{f.bits} secret bits, {ones} of them ones; {f.bits - f.right} of the rebuilt ones are wrong.",
        )
    ]


def headline(f: ReconstructionFacts) -> str:
    counts = setting(COUNTS, numbers.steps(f.counts), "counts")
    noise = setting(SIGMA, "noise σ =", numbers.entered(f.noise_std))
    return (
        f"From <b>{counts}</b> with <b>{noise}</b>, least squares rebuilds <b>{f.right} of {f.bits}</b> secret bits "
        f"(guessing: {numbers.plain(f.bits / 2)}). These counts cost <b>ε ≤ {numbers.up(f.epsilon)}</b> at "
        f"{shown_delta(f.delta)}."
    )


def metrics(f: ReconstructionFacts) -> Iterator[Metric]:
    yield Metric("Right bits, this release", f"{f.right} of {f.bits}", "guessing: half of them")
    yield Metric("Right bits, mean", numbers.tenths(f.mean), "over 40 noises")
    yield Metric("Any attack, on average", f"≤ {numbers.chance_up(f.most)}", f"μ = {numbers.up(f.mu)}")
    yield Metric("ε of all counts", f"≤ {numbers.up(f.epsilon)}", f"at δ = {numbers.delta(f.delta)}; exact")


def notes(f: ReconstructionFacts) -> Iterator[Note]:
    if f.counts < f.bits:
        yield Note("There are fewer counts than bits: least squares takes the smallest of many solutions.")
    if f.noise_std < math.sqrt(f.bits):
        yield Note("σ is below √n: if enough such counts are published, nearly all bits can be rebuilt.", "caution")
    yield Note("Full dots are ones, empty dots are zeros. Red dots are rebuilt wrongly.")


def formulas(f: ReconstructionFacts) -> Iterator[Formula]:
    yield Formula(
        "Least squares, each bit rounded (after Dinur & Nissim 2003)",
        r"\hat x = \arg\min_x \lVert A x - y \rVert_2,\quad y = A x + \mathcal N(0, \sigma^2 I),\quad"
        rf" A \in \{{0,1\}}^{{{f.counts} \times {f.bits}}}",
    )
    yield Formula(
        "Privacy of all counts, exact (Dong, Roth, Su 2022)",
        rf"\mu = \frac{{\sqrt m}}{{\sigma}} = {numbers.tex_up(f.mu)},\quad"
        rf" \varepsilon({numbers.delta(f.delta)}) \le {numbers.tex_up(f.epsilon)}",
    )
    yield Formula(
        "Right bits of any attack, on average",
        rf"\Phi(\mu/2) \le {numbers.at_most(f.most, 6)}",
    )


ASSUMPTIONS = """
- **The data:** n people with one bit each, fair coins from the seed. One person's bit may be replaced by the other.
- **The counts:** m public, random halves of the people, drawn from the seed. Each count of ones gets Gaussian noise of
  standard deviation σ. One bit changes each count by at most 1, so all counts together are one Gaussian mechanism
  with μ = √m/σ. A person who is in fewer of the subsets loses less.
- **The attack** solves for all bits at once by least squares and rounds to the nearest bit. It knows the subsets, but
  no bit. It is not the best attack.
- **“Any attack, on average”** bounds the expected share of right bits of every attack, also of one that knows all other
  bits. By chance a single release may give more.
- **The theorem** (Dinur & Nissim 2003): noise well below √n lets an attacker rebuild nearly all bits from enough
  counts, in a short time. It gives no exact place; √n is its order.
- **Error bars** go from the worst to the best of 40 noises, of which 20 are the opposites of the others.
"""


def layout(get: Reader) -> Layout:
    return {"Question": (BITS, COUNTS, SIGMA, DELTA), "Show": (AGAINST, *experts(SEED))}


RECONSTRUCTION = Question(
    "reconstruction",
    "Can the data be rebuilt?",
    reconstruction,
    Words(headline, metrics, notes, formulas, ASSUMPTIONS),
    asks="right",
    layout=layout,
    below=picture,
)

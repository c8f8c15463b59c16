"""Publishing a number that depends on private data, with noise by its smooth sensitivity (Nissim et al. 2007).

S is a β-smooth bound of a number v where, for every pair of neighbours D and D′, |v(D) − v(D′)| ≤ min(S(D), S(D′)) and
S(D) ≤ e^β S(D′). Two numbers are published:

    ln S + β τ Z₁  and  v + S σ Z₂,  Z₁, Z₂ ~ N(0, 1).

The first is a Gaussian mechanism, for ln S moves by β at most: R(α) = α/(2τ²). The second (GNSS of Papernot et al.
2018) has the divergence of two Gaussians whose standard deviations differ by a factor r in [e^(−β), e^β] and whose
means differ by min(1, r)/σ of the first one's. Both terms of that divergence,

    α min(1, r²)/(2σ²(1 + α(r² − 1))) + (α ln r − ½ ln(1 + α(r² − 1)))/(α − 1),

are largest at r = e^(−β), which is allowed: it is the cost, and no bound on it. It is finite where α(1 − e^(−2β)) < 1.
The closed form α e^(2β)/σ² + (βα − ½ ln(1 − 2αβ))/(α − 1) of Papernot et al. 2018, Theorem 23, lacks the denominator
of the first term and is less than the divergence as 2αβ nears 1; it is not used.

From both numbers anyone can work out a limit above v: the second plus c σ times e to the first. It is below v where
Z₂ < −c e^(βτZ₁), which happens with probability E Φ(−c e^(βτZ₁)) whatever the data are; c is where that is γ.

>>> release = SmoothRelease(order=20.0, smoothness=0.01, noise=8.0, log_noise=8.0, chance=1e-3)
>>> round(release.cost, 3)
0.413
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from dpviz import _validate
from dpviz._arrays import Array


@dataclass(frozen=True)
class SmoothRelease:
    """How a number is published; all of it is chosen without looking at the data.

    Attributes:
        order: α > 1, at which the cost is counted.
        smoothness: β > 0, less than −½ ln(1 − 1/α).
        noise: σ > 0, in smooth sensitivities.
        log_noise: τ > 0, of ln S, in β; βτ ≤ 10.
        chance: γ in (0, 1), that the limit is below the number.
    """

    order: float
    smoothness: float
    noise: float
    log_noise: float
    chance: float

    def __post_init__(self) -> None:
        order = float(_validate.orders([self.order])[0])
        for name in ("smoothness", "noise", "log_noise"):
            _validate.scalar(name, _validate.positive(name, getattr(self, name)))
        _validate.number(chance=self.chance)
        if not self.smoothness < (most := most_smoothness(order)):
            raise ValueError(
                f"Expected smoothness={self.smoothness:g} < {most:.4g} = -ln(1 - 1/order)/2 for order={order:g}: "
                "beyond it the release has no finite cost at this order. Give a smaller smoothness or order."
            )
        if not self.smoothness * self.log_noise <= 10.0:
            raise ValueError(
                f"Expected smoothness={self.smoothness:g} times log_noise={self.log_noise:g} <= 10: beyond it nothing "
                "is left of the smooth sensitivity that is published. Give a smaller log_noise."
            )

    @property
    def cost(self) -> float:
        """R(α) of both numbers."""
        order, beta = self.order, self.smoothness
        apart = -order * math.expm1(-2.0 * beta)  # α(1 − e^(−2β)) < 1
        moved = order * math.exp(-2.0 * beta) / (2.0 * self.noise**2 * (1.0 - apart))
        widened = (-order * beta - 0.5 * math.log1p(-apart)) / (order - 1.0)
        return moved + widened + order / (2.0 * self.log_noise**2)

    @cached_property
    def factor(self) -> float:
        """c ≥ 0 of the limit; 0 where γ ≥ 1/2."""
        if self.chance >= 0.5:
            return 0.0
        z = np.linspace(-10.0, 10.0, 8001)
        weights = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
        spread = np.exp(self.smoothness * self.log_noise * z)

        def too_often(log_c: float) -> float:
            return float(weights @ ndtr(-math.exp(log_c) * spread)) - self.chance

        # Enough, by a union: each draw is beyond this with probability γ/2.
        end = -float(ndtri(self.chance / 2.0))
        high = math.log(end) + self.smoothness * self.log_noise * end
        if too_often(-60.0) <= 0.0:
            return math.exp(-60.0)
        return math.exp(float(brentq(too_often, -60.0, high, xtol=1e-12)) + 1e-9)

    def limit(self, value: Array, smooth: Array, draws: tuple[float, float]) -> Array:
        """What the published numbers put above `value`; `draws`: Z₁ and Z₂, which must stay secret."""
        published = np.exp(np.log(smooth) + self.smoothness * self.log_noise * draws[0])
        return np.asarray(value + self.noise * (smooth * draws[1] + self.factor * published))


def most_smoothness(order: float) -> float:
    """β below which a release has a finite cost at this order."""
    return -0.5 * math.log1p(-1.0 / order)

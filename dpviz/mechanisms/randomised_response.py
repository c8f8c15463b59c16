"""Randomised response: one bit is reported, the true one with a stated probability (Warner 1965).

>>> coin = RandomisedResponse(truth=0.75)
>>> coin.text, round(coin.epsilon, 4)
('randomised response, the true answer with probability 0.75', 1.0986)
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array
from dpviz.mechanisms.loss_pairs import DiscretePair
from dpviz.mechanisms.mechanism import Adjacency, Mechanism, RenyiCurve
from dpviz.mechanisms.pair import UNIT


@dataclass(frozen=True, slots=True)
class RandomisedResponse(Mechanism):
    """One report of one secret bit, which the other bit may replace; several steps are independent reports of it.

    Its two outcomes have the losses ln(p/(1 − p)) and minus that, exactly. No mechanism with the same ε and δ = 0 shows
    more (Kairouz, Oh, Viswanath 2015, Theorem 3.4), so it stands for all of them.

    Attributes:
        truth: p, the probability that the reported bit is the true one; in (0, 1), and 1/2 tells nothing.
    """

    adjacency: ClassVar[Adjacency] = Adjacency.REPLACE_ONE
    noise: ClassVar[str] = ""
    text_template: ClassVar[str] = "randomised response, the true answer with probability $truth"
    latex_template: ClassVar[str] = r"\Pr[\text{report} = x] = $truth"
    truth: float

    def __post_init__(self) -> None:
        truth = _validate.scalar("truth", _validate.probability("truth", self.truth))
        if truth in (0.0, 1.0):
            raise ValueError(
                f"Expected truth={truth:g} in (0, 1): an answer that is never changed has no finite ε. For ε = 5, use "
                "truth=0.9933."
            )
        object.__setattr__(self, "truth", truth)

    @property
    def epsilon(self) -> float:
        """|ln(p/(1 − p))|, exact and at δ = 0."""
        return abs(math.log(self.truth) - math.log1p(-self.truth))

    @property
    def releases(self) -> bool:
        return self.truth != 0.5

    def pair(self) -> DiscretePair:
        likelier = max(self.truth, 1.0 - self.truth)
        mass = np.array([likelier, 1.0 - likelier])
        losses = np.array([-self.epsilon, self.epsilon])
        return DiscretePair(1.0 / max(self.epsilon, 1e-300), losses, mass, 8.0 * UNIT * mass, 1.0)

    def renyi(self) -> RenyiCurve:
        """R(α) = ln(p^α (1 − p)^(1 − α) + (1 − p)^α p^(1 − α))/(α − 1) (Mironov 2017, Proposition 5)."""
        likelier = max(self.truth, 1.0 - self.truth)
        yes, no = math.log(likelier), math.log1p(-likelier)

        def curve(orders: Array) -> Array:
            alpha = np.asarray(orders, dtype=np.float64)
            logs = np.logaddexp(alpha * yes + (1.0 - alpha) * no, alpha * no + (1.0 - alpha) * yes)
            rounding = 8.0 * UNIT * alpha * (abs(yes) + abs(no))
            return np.asarray(np.minimum((np.maximum(logs, 0.0) + rounding) / (alpha - 1.0), self.epsilon))

        return curve

"""One sample from a posterior, as a private release: an exponential mechanism whose score is the log-likelihood.

One-posterior-sample (Dimitrakakis et al. 2014; Wang, Fienberg, Smola 2015, Theorem 1 and Algorithm 1) releases θ from
the density that is proportional to π(θ) exp(ρ Σ_i ℓ(θ; d_i)), ℓ the log-likelihood of one example, ρ ≤ 1. Where one
example is replaced, the numerator changes by the factor exp(ρ h(θ)), h(θ) = ℓ(θ; d′) − ℓ(θ; d), and the normaliser by
a mean of such factors. So no density changes by more than exp(±ρ (sup h − inf h)), whatever the prior:

    ε = ρ (sup_θ h − inf_θ h),    δ = 0.

Where ℓ varies with θ by at most r, that is 2ρr; for an example added or removed, h = ±ℓ, it is ρr. As printed it is
4ρB with |ℓ| ≤ B.

The ε is that of an exact sample. Of a Markov chain whose distribution lies within τ of the posterior in total
variation, on all data sets, it is (ε, (1 + e^ε)τ); of one whose τ nobody has bounded, there is none.

>>> release = PosteriorSample(spread=logistic_spread(feature_norm=1.0, parameter_norm=5.0))
>>> release.power(epsilon=1.0)
0.1
"""

import math
from dataclasses import dataclass

from dpviz import _validate

ADJACENCIES = ("replace_one", "add_remove")


@dataclass(frozen=True, slots=True)
class PosteriorSample:
    """One exact sample of a posterior whose likelihood is taken to the power ρ.

    Attributes:
        spread: r, the most by which the log-likelihood of one example varies over all parameters, whichever example.
        adjacency: "replace_one" example, as both papers define neighbours, or "add_remove" one.
    """

    spread: float
    adjacency: str = "replace_one"

    def __post_init__(self) -> None:
        object.__setattr__(self, "spread", _validate.number(spread=self.spread))
        _validate.choice("adjacency", self.adjacency, ADJACENCIES)

    @property
    def sensitivity(self) -> float:
        """sup h − inf h: 2r where an example is replaced, r where one is added or removed."""
        return self.spread * (2.0 if self.adjacency == "replace_one" else 1.0)

    def epsilon(self, power: float) -> float:
        """ε of one exact sample at ρ = `power` in (0, 1]; δ = 0.

        Raises:
            ValueError: for a power outside.
        """
        rho = _validate.number(power=power)
        if rho > 1.0:
            raise ValueError(f"Expected power={rho:.12g} in (0, 1]: no example may count more than once.")
        return rho * self.sensitivity

    def power(self, epsilon: float) -> float:
        """The largest ρ ≤ 1 that keeps ε."""
        target = _validate.scalar("epsilon", _validate.positive("epsilon", epsilon))
        rho = min(1.0, target / self.sensitivity)
        return rho if self.epsilon(rho) <= target else math.nextafter(rho, 0.0)


def logistic_spread(*, feature_norm: float, parameter_norm: float) -> float:
    """r of logistic regression with ‖x‖ ≤ `feature_norm` and ‖θ‖ ≤ `parameter_norm`: their product.

    ℓ = −ln(1 + e^(−u)) with |u| ≤ R lies between −ln(1 + e^R) and −ln(1 + e^(−R)), which are R apart.
    """
    parts = (("feature_norm", feature_norm), ("parameter_norm", parameter_norm))
    x, theta = (_validate.scalar(name, _validate.positive(name, value)) for name, value in parts)
    return x * theta


def printed_epsilon(power: float, spread: float) -> float:
    """4ρB of logistic regression with spread r, B = ln(1 + e^r): Theorem 1 of Wang, Fienberg, Smola 2015 as printed."""
    rho, r = (_validate.scalar(name, _validate.positive(name, v)) for name, v in (("power", power), ("spread", spread)))
    return 4.0 * rho * (r + math.log1p(math.exp(-r)))

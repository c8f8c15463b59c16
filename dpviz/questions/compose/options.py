"""Settings of Bayesian DP: gradients, clipping, δ_μ, γ, orders and form."""

from collections.abc import Hashable
from dataclasses import dataclass

from dpviz.questions.gradients import Distances, Gradients, Law, clipped
from dpviz.questions.source import origin


@dataclass(frozen=True, eq=False)
class BayesianOptions:
    """Settings of Bayesian DP.

    Attributes:
        gradients: a sample or a known distribution; None where Bayesian DP is off, or not for this mechanism.
        quantile: of the norms, at which C clips.
        clip: "both", or "dp" where Bayesian DP sees the gradients unclipped.
        delta_mu: δ_μ, which is δ unless it is set.
        failure: γ, the probability that what a sample says is too low.
        order: the one λ that is tried; None for the best of 1 to 32.
        definition: "2" for the guarantee, "1" for the strong form, of a known distribution.
        samples: how many norms of a known distribution are drawn; None for none.
        reading: "planned" where t is the whole plan, or "running".
        divergence: "left" for ψ_L, "printed" for the larger of it and ψ_R, of a sample.
    """

    gradients: Gradients | None
    quantile: float
    clip: str
    delta_mu: float
    failure: float
    order: int | None
    definition: str
    samples: int | None
    reading: str
    divergence: str

    @property
    def orders(self) -> range:
        """The moment orders λ that are tried on a sample."""
        return range(1, 33) if self.order is None else range(self.order, self.order + 1)

    @property
    def renyi_orders(self) -> tuple[float, ...] | None:
        """The one α that is tried on a known distribution; None for the best."""
        return None if self.order is None else (self.order + 1.0,)

    @property
    def law(self) -> Law:
        """The known distribution of norms, where the gradients are one."""
        assert self.gradients is not None
        law = origin(self.gradients)
        assert isinstance(law, Law)
        return law

    @property
    def source(self) -> Gradients:
        """The gradients, where Bayesian DP is drawn."""
        assert self.gradients is not None
        return self.gradients

    @property
    def distances(self) -> Distances:
        """What Bayesian DP sees of the sample, clipped as asked."""
        return clipped(self.source, self.quantile, self.clip)

    @property
    def key(self) -> Hashable:
        """The gradients by their name, and what decides on every curve of them."""
        return self.source.key, self.quantile, self.delta_mu

"""Settings of both questions about a target ε."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from dpviz.accounting.methods import BAYESIAN, Tight
from dpviz.fields import number, several
from dpviz.mechanisms import Mechanism
from dpviz.questions import DELTA, STEPS, Reader, kinds
from dpviz.questions.gradient_fields import gradients_where
from dpviz.questions.gradients import Gradients
from dpviz.questions.methods import OFFERED, left_out
from dpviz.questions.needed import Composed
from dpviz.questions.noise.curves import QUANTILES
from dpviz.questions.shared import AMPLIFICATION, CLIP, DELTA_MU, FAILURE, LAW, TRIED

TARGET = number("target")
METHODS = several("noisecurves", options=OFFERED)


def asks(get: Reader, key: str) -> bool:
    """Whether a method is switched on, and offered."""
    return key in get(METHODS) and key in kinds.offered(METHODS, get)


def weak(get: Reader) -> bool:
    """Whether Bayesian DP is asked at all."""
    return asks(get, BAYESIAN) and bool(get(QUANTILES))


GRADIENTS = gradients_where(weak, laws=True)


@dataclass(frozen=True)
class NoiseAsked:
    """What both questions ask for: the keywords of their answers. Where δ_μ is None it is δ."""

    mechanism: Annotated[Mechanism, kinds.MECHANISM]
    steps: Annotated[int, STEPS]
    delta: Annotated[float, DELTA]
    target_epsilon: Annotated[float, TARGET]
    methods: Annotated[tuple[str, ...], METHODS]
    amplification: Annotated[str, AMPLIFICATION]
    quantiles: Annotated[tuple[str, ...], QUANTILES]
    clip: Annotated[str, CLIP]
    delta_mu: Annotated[float | None, DELTA_MU]
    failure: Annotated[float, FAILURE]
    gradients: Annotated[Gradients | None, GRADIENTS]
    tried: Annotated[int, TRIED]
    law: Annotated[str, LAW]

    @property
    def weak_delta(self) -> float:
        """δ_μ of Bayesian DP."""
        return self.delta_mu or self.delta

    @property
    def composed(self) -> Composed:
        return Composed(self.mechanism, self.steps, self.delta)

    @cached_property
    def left(self) -> dict[str, str]:
        """Methods that there are none of under this mechanism, the tight one among them, and why."""
        return left_out((*self.methods, Tight.name), self.mechanism)

    @property
    def dp(self) -> list[str]:
        """The methods of DP."""
        return [key for key in self.methods if key != BAYESIAN and key not in self.left]

    @property
    def bayesian(self) -> bool:
        """Whether Bayesian DP is asked, and is there under this mechanism."""
        return BAYESIAN in self.methods and BAYESIAN not in self.left and bool(self.quantiles)

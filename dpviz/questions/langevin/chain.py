"""The steps of a Langevin sampler, as the controls set them: their noise, and what the theorems say of their sizes."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Self

import numpy as np
import numpy.typing as npt

from dpviz._arrays import Array
from dpviz.accounting.langevin.cost import Langevin, langevin_bound
from dpviz.accounting.langevin.published_bounds import langevin_step_size, step_size_limits, wang_largest_epsilon
from dpviz.accounting.langevin.squared_error import best_step_size
from dpviz.accounting.langevin.step_sizes import composed_step_size
from dpviz.accounting.schedules import PowerSchedule
from dpviz.fields import choice, flag, number
from dpviz.questions import DELTA

NOISE_VARIANCES = {"algorithm1": "ηₜ/N", "sgld": "2ηₜ/N"}

FIRST = number("leta")
DECAY = choice("ldecay")
STEPS = number("lsteps")
CLAIM = number("leps")
SIZE = number("ln")
BATCH = number("ltau")
CLIP = number("lclip")
ALGORITHM = choice("lalg")
NOISE = choice("lnoise")
FRICTION = number("lbeta")
REPLACE = flag("lreplace")
CONVERSION = choice("lconv")


@dataclass(frozen=True, kw_only=True)
class SamplerPlan:
    """The sampler's setting but for the size of its first step, and the ε that is wanted or claimed.

    Attributes:
        decay: "third" for η₁ ÷ ∛t, or "fixed".
        steps: T.
        claim: ε.
        n, batch_size, clip: N, τ ≤ N, and the norm L of gradients.
        delta: δ.
        sampler: "sgld", or with `friction` "sghmc" or "sgnht", whose steps release the same.
        noise: of "sgld", "algorithm1" or "sgld": a variance of η/N as printed, or of 2η/N.
        replace_one: whether neighbours replace an example instead of adding or removing one.
        conversion: "classic" or "improved", of the accountant behind step sizes.
    """

    decay: Annotated[str, DECAY]
    steps: Annotated[int, STEPS]
    claim: Annotated[float, CLAIM]
    n: Annotated[float, SIZE]
    batch_size: Annotated[float, BATCH]
    clip: Annotated[float, CLIP]
    delta: Annotated[float, DELTA]
    sampler: Annotated[str, ALGORITHM]
    noise: Annotated[str, NOISE]
    friction: Annotated[float, FRICTION]
    replace_one: Annotated[bool, REPLACE]
    conversion: Annotated[str, CONVERSION]

    @property
    def momentum(self) -> bool:
        return self.sampler != "sgld"

    @property
    def setting(self) -> Langevin:
        """Raises ValueError for a batch larger than the data."""
        if self.batch_size > self.n:
            raise ValueError(
                f"Batch τ: {self.batch_size:.12g} is more than the data set's {self.n:.12g}; try √N = "
                f"{round(math.sqrt(self.n))}, or a larger N."
            )
        friction = self.friction if self.momentum else None
        adjacency = "replace_one" if self.replace_one else "add_remove"
        noise = "algorithm1" if self.momentum else self.noise  # momentum's noise is that of its friction
        return Langevin(self.n, self.batch_size, self.clip, friction, adjacency, noise)

    @property
    def printed_noise(self) -> bool:
        """Whether steps add half of the noise with which they would sample the posterior, as Algorithm 1 prints it."""
        return not self.momentum and self.noise == "algorithm1"

    @property
    def variance(self) -> str:
        """Of the noise of a step, in each coordinate."""
        return "2βηₜ/N" if self.momentum else NOISE_VARIANCES[self.noise]

    @property
    def with_other_noise(self) -> Self | None:
        """The same steps with the noise that was not chosen; None for samplers with momentum, which have one alone."""
        if self.momentum:
            return None
        return replace(self, noise="sgld" if self.printed_noise else "algorithm1")

    @property
    def exponent(self) -> float:
        return 1 / 3 if self.decay == "third" else 0.0

    @property
    def theorem(self) -> str:
        """Of Li et al. 2019, for these steps."""
        return "theorem3" if self.exponent else "theorem4"

    @property
    def best_step_size(self) -> float:
        """The first step size with the least error bound."""
        return best_step_size(exponent=self.exponent, steps=self.steps)

    def limits(self, reading: str) -> tuple[float, float]:
        """Condition (2) holds above the first step size, (1) up to the second; "rederived", or read as "printed"."""
        return step_size_limits(self.setting, reading)

    @property
    def wang_limit(self) -> float:
        """The largest ε for which the theorem of Wang, Fienberg, Smola 2015 holds."""
        return wang_largest_epsilon(sample_rate=self.setting.sample_rate, steps=self.steps, delta=self.delta)

    @property
    def wang_steps(self) -> float:
        """The least T for which it holds at the claimed ε."""
        return float(np.ceil(self.steps * (self.claim / self.wang_limit) ** 2))

    @cached_property
    def wang_step_size(self) -> float:
        """Their largest step size for the claimed ε; NaN where the theorem does not hold."""
        return float(step_sizes(self, "wang", self.claim))

    @property
    def wang_holds(self) -> bool:
        """Whether their theorem holds at the claimed ε."""
        return not math.isnan(self.wang_step_size)

    @cached_property
    def wang_cost(self) -> float:
        """What steps of that size really cost."""
        steps = PowerSchedule(self.wang_step_size, 0.0, self.steps)
        return float(langevin_bound(self.setting, steps, delta=self.delta).epsilon[-1])


@dataclass(frozen=True, kw_only=True)
class Chain(SamplerPlan):
    """The sampler with its step sizes; `step_size` is η₁ of the first step."""

    step_size: Annotated[float, FIRST]

    @property
    def schedule(self) -> PowerSchedule:
        return PowerSchedule(self.step_size, self.exponent, self.steps)

    def noise_at(self, step: float) -> float:
        """The noise multiplier of a step."""
        return float(self.setting.noise_multiplier(self.schedule.at([step]))[0])


@np.errstate(all="ignore")
def step_sizes(chain: SamplerPlan, theorem: str, epsilon: npt.ArrayLike) -> Array:
    """Largest first step sizes for each ε, NaN where none is proven; Wang et al. bound SGLD alone."""
    if theorem == "wang":
        targets = np.asarray(epsilon, dtype=np.float64)
        holds = targets <= chain.wang_limit
        sizes = langevin_step_size(
            theorem,
            epsilon=np.where(holds, targets, chain.wang_limit),
            delta=chain.delta,
            n=chain.n,
            steps=chain.steps,
            clip=chain.clip,
            batch_size=chain.batch_size,
            adjacency=chain.setting.adjacency,
            noise=chain.setting.noise,
        )
        return np.where(holds, sizes, np.nan)
    sizes, _ = composed_step_size(
        chain.setting,
        epsilon=epsilon,
        delta=chain.delta,
        exponent=1 / 3 if theorem == "theorem3" else 0.0,
        steps=chain.steps,
        conversion=chain.conversion,
        refine=False,
    )
    return proven(sizes)


def proven(sizes: Array) -> Array:
    """NaN where no step size is proven private."""
    return np.where(sizes > 0.0, sizes, np.nan)

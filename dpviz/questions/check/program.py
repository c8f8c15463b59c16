"""A training as a form or a pasted text describes it: the settings of *Check a program*, and what bounds its ε."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, NamedTuple

from dpviz.accounting.tuning import Law
from dpviz.fields import numbers
from dpviz.questions import DELTA, LAW, SIZE, TRIED, Formula
from dpviz.questions.budget.blocks import Block
from dpviz.questions.check import fields
from dpviz.questions.check.described import Described, described, renyi_above


class StepsAndRate(NamedTuple):
    """T and q.

    Attributes:
        most, fewest: T of the longer and of the shorter length; equal where there is one.
        rate: q in words.
        formulas: of T and q.
    """

    most: int
    fewest: int
    rate: str
    formulas: tuple[Formula, Formula]

    @property
    def text(self) -> str:
        """T; both, where there are two lengths."""
        most = numbers.steps(self.most)
        return most if self.fewest == self.most else f"{numbers.steps(self.fewest)} or {most}"


@dataclass(frozen=True)
class Program:
    """What is described; the keywords of the answers to questions about it.

    Attributes:
        parts: Poisson batches that are added up in one step; an example may be in each of them, as a row of its own.
        counted, unsettled: what a text has: steps of an accountant, and what it leaves open.

    Raises:
        ValueError: there is no such training.
    """

    size: Annotated[int, SIZE]
    batch: Annotated[int, fields.BATCH]
    epochs: Annotated[float, fields.EPOCHS]
    noise_multiplier: Annotated[float, fields.NOISE]
    delta: Annotated[float, DELTA]
    adjacency: Annotated[str, fields.ADJACENCY]
    rows: Annotated[int, fields.ROWS]
    largest_batch: Annotated[int, fields.FURTHER["largest_batch"]]
    decay: Annotated[float, fields.FURTHER["decay"]]
    band: Annotated[int, fields.FURTHER["band"]]
    least_epochs: Annotated[float, fields.LEAST]
    loader: Annotated[str, fields.LOADER]
    parts: Annotated[int, fields.PARTS]
    sampler: Annotated[str, fields.SAMPLER]
    tried: Annotated[int, TRIED]
    law: Annotated[Law, LAW]
    unsettled: Annotated[tuple[str, ...], fields.UNSETTLED]
    counted: Annotated[tuple[Block, ...], fields.COUNTED]

    def __post_init__(self) -> None:
        if self.samples > self.size and not self.counted:
            raise ValueError(
                f"A batch of {self.samples} is more than the N = {self.size} examples there are: lower it, or raise N."
            )
        if not self.counted and fields.steps_of(self.size, self.samples, self._lengths[0]) > 10**12:
            raise ValueError("These are more than 1e12 steps: lower the epochs, or raise the batch.")

    @property
    def _summed(self) -> bool:
        """Whether an example is in one alone of the batches that are added up."""
        return self.sampler not in ("poisson", "unsaid")

    @property
    def samples(self) -> int:
        """Examples of one batch."""
        return self.batch * self.parts if self._summed else self.batch

    @property
    def _lengths(self) -> tuple[float, float]:
        """The longer and the shorter length in epochs; 0 for no shorter one."""
        share = self.parts if self._summed else 1
        return self.epochs * share, self.least_epochs * share

    @cached_property
    def training(self) -> Described:
        """What bounds ε."""
        epochs, least = self._lengths
        return described(
            size=self.size,
            batch=self.samples,
            epochs=epochs,
            sigma=self.noise_multiplier,
            sampler=self.sampler,
            replace=self.adjacency == "replace",
            rows=self.rows if self._summed else self.rows * self.parts,
            least_epochs=min(least, epochs),
            loader=self.loader,
            counted=self.counted,
            largest_batch=self.largest_batch,
            decay=self.decay,
            band=self.band,
        ).best_of(self.tried, self.law)

    @cached_property
    def renyi(self) -> float:
        """An upper bound on ε by Rényi divergences."""
        return renyi_above(self.training, self.delta)

    @cached_property
    def length(self) -> StepsAndRate:
        """The most and the fewest steps, and q."""
        return length_and_rate(self.size, self.samples, *self._lengths, self.loader, self.counted)

    @property
    def protected(self) -> str:
        """Who is protected: "one example"."""
        return "one example" if self.rows == 1 else f"one person, up to {self.rows} rows"

    @property
    def runs(self) -> str:
        """How many runs the best one is chosen from: "the best of 40"; empty for one run."""
        if self.tried == 1:
            return ""
        how = "" if self.law == "fixed" else f" on average, {LAW.options[self.law]}"
        return f"the best of {numbers.steps(self.tried)}{how}"


def length_and_rate(
    size: int, batch: int, epochs: float, least_epochs: float, loader: str, counted: Sequence[Block]
) -> StepsAndRate:
    """The most and the fewest steps, and q."""
    if counted:
        total, rates = sum(block.steps for block in counted), sorted({block.rate for block in counted})
        words = "q = " + " to ".join(dict.fromkeys(numbers.plain(rate) for rate in (rates[0], rates[-1])))
        formulas = Formula("Steps", f"T = {total}"), Formula("Rate", rf"q \le {rates[-1]:.6g}")
        return StepsAndRate(total, total, words, formulas)
    fewest, many = fields.loader_batches(size, batch, loader)
    most, least = fields.whole_steps(epochs * many), fields.whole_steps((least_epochs or epochs) * fewest)
    rates = sorted({1.0 / many, 1.0 / fewest})
    per_epoch = {
        "exact": r"N / \text{batch}",
        "loader": r"\lceil N / \text{batch} \rceil",
        "dropped": r"\lfloor N / \text{batch} \rfloor",
        "either": r"\text{batches of the loader}",
    }[loader]
    either = r" \text{ or } ".join(f"{rate:.6g}" for rate in rates)
    share = r"\text{batch} / N" if loader == "exact" else f"1 / {per_epoch}"
    return StepsAndRate(
        most,
        least,
        "q = " + " or ".join(map(numbers.plain, rates)),
        (
            Formula("Steps", rf"T = \lceil \text{{epochs}} \cdot {per_epoch} \rceil = {most}"),
            Formula("Rate", f"q = {share} = {either}"),
        ),
    )

"""Steps that ran and were not yet told about: read from the device together, charged, and made into one event."""

import time
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dpviz.mechanisms import SampledGaussian
from dpviz.training.accounts.live import LiveAccounts
from dpviz.training.accounts.stepwise import encoded
from dpviz.training.engine.rounding import certified_bound
from dpviz.training.methods import Info

TELL_EVERY = 1.0  # seconds between two lines on the Bayesian ε
_BINS = 48
_DECADES = 3.0

# Per step on the device: sum and number of finite losses, clipped examples, examples with a non-finite gradient, the
# distances that were measured, and the lengths of the followed examples' gradients.
_Facts = Tensor


class StepBuffer:
    """Collects steps; `read` waits for the device, once for all of them.

    It also keeps the times: a step took what passed since steps were last read, or since `rest`.

    Args:
        accounts: Charged with every step, in order; None for plain training.
        max_grad_norm: C.
        histogram_every: Steps between histograms of gradient norms; 0 for none.
    """

    def __init__(self, accounts: LiveAccounts | None, *, max_grad_norm: float, histogram_every: int) -> None:
        self._accounts, self._bound, self._every = accounts, max_grad_norm, histogram_every
        self._waiting: list[tuple[int, Info, _Facts]] = []  # their numbers are still on the device
        # With what an event "step" has one entry of for each step.
        self._settled: list[tuple[int, Info, dict[str, Any]]] = []
        self._began = self._taken = time.monotonic()
        self._told = -TELL_EVERY

    @property
    def waiting(self) -> int:
        """Steps whose numbers are still on the device."""
        return len(self._waiting)

    @property
    def age(self) -> float:
        """Seconds since steps were last taken."""
        return time.monotonic() - self._taken

    def add(self, step: int, info: Info) -> None:
        """A step that was just enqueued; nothing is read yet."""
        self._waiting.append((step, info, _facts(info, self._bound)))

    def rest(self) -> None:
        """What came before now is not the next step's time, unless steps wait."""
        if not self._waiting:
            self._began = time.monotonic()

    def read(self) -> int | None:
        """Reads and charges what waits.

        Returns:
            The first step whose batch had examples but not one finite loss, or None.
        """
        if not self._waiting:
            return None
        broken, count, seconds = None, len(self._waiting), time.monotonic() - self._began
        measures = self._accounts is not None and self._accounts.bayesian is not None
        numbers = iter(torch.cat([facts for *_, facts in self._waiting]).tolist())
        for step, info, facts in self._waiting:
            loss, finite, clipped, non_finite, *distances = islice(numbers, len(facts))
            if info.followed is not None:
                at = len(distances) - len(info.followed)
                distances, lengths = distances[:at], distances[at:]
            if self._accounts is not None and info.mechanism is not None:
                charged = self._accounts.step(info.mechanism, distances if measures else None)
                if self._accounts.followed is not None and info.followed is not None:
                    assert isinstance(info.mechanism, SampledGaussian)  # as `RunSettings.check` sees to
                    self._accounts.followed.charge(info.mechanism, np.array(lengths) / self._bound)
                info = info if charged else info._replace(mechanism=None)
            seen = info.batch_size if info.norms is not None else 0
            row = {
                "batch_size": info.batch_size,
                "expected_batch_size": info.expected,
                "loss": loss / finite if finite else None,
                "clipped": clipped / seen if seen else None,
                "non_finite": int(non_finite),
                "learning_rate": info.step_size,
                "seconds": seconds / count,
                "distances": distances if measures else None,
            }
            self._settled.append((step, info, row))
            if info.batch_size and not finite and broken is None:
                broken = step
        self._waiting.clear()
        self._began = time.monotonic()
        return broken

    def _histogram(self) -> dict[str, Any] | None:
        """Of the last settled step for which one is due."""
        due = (
            (step, info.norms[: info.batch_size])
            for step, info, _ in reversed(self._settled)
            if self._every and step % self._every == 0 and info.norms is not None
        )
        step, norms = next(due, (0, None))
        if norms is None:
            return None
        norms = norms.cpu()
        norms = norms[torch.isfinite(norms)]
        scaled = (norms / self._bound).clamp(min=1e-30).log10().clamp(-_DECADES, _DECADES)
        edges = torch.linspace(-_DECADES, _DECADES, _BINS + 1, dtype=torch.float64)
        counts = torch.histc(scaled, bins=_BINS, min=-_DECADES, max=_DECADES)
        return {
            "step": step,
            "edges": (self._bound * 10.0**edges).tolist(),
            "counts": [int(count) for count in counts.tolist()],
            "max_grad_norm": self._bound,
        }

    def _words(self) -> str:
        """What is said of the Bayesian ε; "" where it was said a moment ago: its facts take a millisecond."""
        if time.monotonic() - self._told < TELL_EVERY:
            return ""
        text = "" if self._accounts is None else self._accounts.bayesian_text()
        self._told = time.monotonic()
        return text

    def take(self) -> dict[str, Any] | None:
        """The settled steps as the content of an event "step", forgotten here; None if there are none."""
        if not self._settled:
            return None
        steps, infos, rows = zip(*self._settled, strict=True)
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        last = infos[-1]
        noise = None
        if last.signal is not None and last.noise is not None:
            noise = {"signal": float(last.signal), "noise": float(last.noise)}
        content = {
            "first": steps[0],
            "count": len(steps),
            "mechanisms": encoded(info.mechanism for info in infos if info.mechanism is not None),
            **columns,
            **({"epsilon": {}} if self._accounts is None else self._accounts.step_readings()),
            "distances": None if columns["distances"][0] is None else columns["distances"],
            "norms": self._histogram(),
            "noise": noise,
            "bayesian_text": self._words(),
        }
        self._settled = []
        self._taken = time.monotonic()
        return content


def _facts(info: Info, bound: float) -> _Facts:
    losses = info.losses[: info.batch_size]
    finite = torch.isfinite(losses)
    loss = torch.where(finite, losses, 0.0).double().sum()  # large losses would overflow together
    clipped = non_finite = torch.zeros_like(loss)
    if info.norms is not None:
        norms = info.norms[: info.batch_size]
        real = torch.isfinite(norms)
        # As the engine clips; a norm that is not a number counts as non-finite only.
        clipped, non_finite = ((norms > certified_bound(bound, norms.dtype)) & real).sum(), (~real).sum()
    facts = torch.stack((loss, finite.sum(), clipped, non_finite)).double()
    measured = [part for part in (info.distances, info.followed) if part is not None]
    return torch.cat((facts, *measured)) if measured else facts

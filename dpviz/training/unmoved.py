"""A notice that nothing is learnt: no gradient of the first steps has a length, and noise alone moves parameters."""

from __future__ import annotations

import torch

NOTICED, NO_LENGTH = 10, 1e-9  # steps that are looked at, and the part of C that counts as no gradient


class FirstGradients:
    """Looks at the gradients of a training's first steps; only the last of these waits for the device.

    Args:
        max_grad_norm: C.
    """

    def __init__(self, max_grad_norm: float) -> None:
        self._bound = max_grad_norm
        self._longest: torch.Tensor | None = None
        self._told = False

    def seen(self, step: int, norms: torch.Tensor) -> str:
        """The notice after `step`, whose gradients had these norms (b,), b ≥ 1; empty where there is nothing to say."""
        if self._told:
            return ""
        longest = norms.nan_to_num(0.0, 0.0, 0.0).max()
        self._longest = longest if self._longest is None else torch.maximum(self._longest, longest)
        if step < NOTICED:
            return ""
        self._told = True
        if float(self._longest) > NO_LENGTH * self._bound:
            return ""
        return (
            f"In the first {step} steps no example had a finite gradient longer than {NO_LENGTH:g} C: noise alone "
            "moves the parameters, and ε is charged all the same. Look at the loss, the targets and the data. (This "
            "was measured on the training data and is not covered by ε.)"
        )

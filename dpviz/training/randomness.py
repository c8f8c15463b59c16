"""Random number generators of a run: one seed for all, or the system's cryptographic source for what is secret."""

from __future__ import annotations

import json
import secrets
from typing import NamedTuple

import numpy as np
import torch


class States(NamedTuple):
    """Of the generators of batches and views as JSON, and of the noise's, (bytes,) uint8."""

    batches: str
    views: str
    noise: torch.Tensor


class Randomness(NamedTuple):
    """Generators of one run, drawn independently.

    Attributes:
        start: Seed of the parameters' start; not secret.
        batches: Batches and counts.
        views: Views of the examples.
        noise: Noise of the steps, on the device.
        description: In words, for the page.
        replayable: Whether all comes from a seed that is kept.
    """

    start: int
    batches: np.random.Generator
    views: np.random.Generator
    noise: torch.Generator
    description: str
    replayable: bool

    def states(self) -> States | None:
        """Where the generators are; None for secret ones, which nobody may draw from again."""
        if not self.replayable:
            return None
        batches, views = (json.dumps(each.bit_generator.state) for each in (self.batches, self.views))
        return States(batches, views, self.noise.get_state())

    def go_on(self, states: States) -> None:
        """Draw what comes after `states`."""
        self.batches.bit_generator.state, self.views.bit_generator.state = map(json.loads, states[:2])
        self.noise.set_state(states.noise)


def randomness(seed: int, *, secure: bool, device: torch.device) -> Randomness:
    """From `seed`, or with `secure` from a seed that nobody knows and that is not kept."""
    start, batches, noise = np.random.SeedSequence(seed).spawn(3)
    if secure:
        batches = np.random.SeedSequence(secrets.randbits(256))
        noise_seed = secrets.randbits(63)
    else:
        noise_seed = int(noise.generate_state(1, np.uint64)[0] >> np.uint64(1))
    views = np.random.default_rng(batches.spawn(1)[0])
    generator = torch.Generator(device=device)
    generator.manual_seed(noise_seed)
    source = (
        "batches and noise from a seed of the system's cryptographic source, which is not kept (the generators that "
        "use it, PCG64 and PyTorch's, are not cryptographic)"
        if secure
        else f"seed {seed}: anyone who knows it can replay the noise, which then protects nobody"
    )
    return Randomness(
        int(start.generate_state(1)[0]), np.random.default_rng(batches), views, generator, source, not secure
    )

"""Where a run's random numbers come from: one seed for all, or the system's cryptographic source for what is secret."""

import secrets
from typing import NamedTuple

import numpy as np
import torch

from dpviz.training.words import words


class Randomness(NamedTuple):
    """Generators of one run, drawn independently.

    Attributes:
        start: Seed of the parameters' start; not secret.
        batches: Batches and counts.
        views: Views of the examples.
        noise: Noise of the steps, on the device.
        description: In words, for the page.
    """

    start: int
    batches: np.random.Generator
    views: np.random.Generator
    noise: torch.Generator
    description: str


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
    source = words("noise", "secret" if secure else "seeded", seed=seed)
    return Randomness(int(start.generate_state(1)[0]), np.random.default_rng(batches), views, generator, source)

"""Python that does without the app what the page did: trains the run, or finds its ε again."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from dpviz.training.settings import RunSettings


def training(settings: RunSettings) -> str:
    """Source that trains with these settings; what stands at its default is left out."""
    usual = RunSettings()
    changed = "".join(
        f"    {field.name}={getattr(settings, field.name)!r},\n"
        for field in dataclasses.fields(settings)
        if getattr(settings, field.name) != getattr(usual, field.name)
    )
    origin = "from dpviz.training.values import Origin\n" if settings.origins else ""
    return (
        "from dpviz.training.loop import FreeRun, run\n"
        f"{origin}from dpviz.training.settings import RunSettings\n\n"
        f"settings = RunSettings(\n{changed})\n"
        "summary = run(settings, lambda event: None, FreeRun())\n"
        'print(summary["text"], summary["test_accuracy"], summary["claim"])\n'
    )


def accounting(mechanisms: Sequence[Sequence[float]], delta: float) -> str:
    """Source that finds ε again from [[σ, q, steps], …]."""
    rows = "".join(f"    ({sigma!r}, {rate!r}, {int(count)}),\n" for sigma, rate, count in mechanisms)
    return (
        "import dpviz\n\n"
        f"charged = [  # noise multiplier, sampling rate, steps\n{rows}]\n"
        'for method in ("moments", "renyi", "odometer", "tight"):\n'
        "    ledger = dpviz.Ledger(dpviz.accountant(method))\n"
        "    for sigma, rate, steps in charged:\n"
        "        ledger.spend(dpviz.SampledGaussian(sigma, rate), steps)\n"
        f"    print(method, float(ledger.bound({delta!r}).epsilon))\n"
    )

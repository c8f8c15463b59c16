"""Python that does without the app what the page did: trains the run, or finds its ε again."""

import dataclasses
from collections.abc import Sequence

from dpviz.accounting.methods import LIVE, Accountant, Tight
from dpviz.training.samplers import read
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
    """Source that finds ε again from [[σ, q, steps], …] (`samplers.stored`), by the accountants that know all of it."""
    events = [read(one) for one in mechanisms]
    rows = "".join(f"    (dpviz.{mechanism!r}, {count}),\n" for mechanism, count in events)
    asked: tuple[type[Accountant], ...] = (*LIVE, Tight)
    methods = tuple(each.name for each in asked if not any(each().supports(mechanism) for mechanism, _ in events))
    return (
        "import dpviz\n\n"
        f"charged = [  # mechanism, times\n{rows}]\n"
        f"for method in {methods}:\n"
        "    bound = dpviz.accountant(method).of_events(charged, "
        f"{delta!r})\n"
        "    print(method, float(bound.epsilon))\n"
    )

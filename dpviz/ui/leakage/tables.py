"""The Leakage page's numbers: bounds and statistics for the eye, every distance and loss for files."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpviz.charts import numbers
from dpviz.ui.leakage.explain import p_value
from dpviz.ui.leakage.result import Found


def table(found: Found) -> pd.DataFrame:
    """What was measured, then every accountant's bound."""
    rows = []
    if found.measured is not None:
        attack, both = found.measured.attack, found.measured.comparison
        sample = found.measured.sample
        interval = f"{numbers.probability(attack.low)} to {numbers.probability(attack.high)}"
        rows.append(_row("attack by loss, right guesses", numbers.probability(attack.accuracy), interval))
        rows.append(_row("right predictions, train", numbers.probability(sample.train_accuracy)))
        rows.append(_row("right predictions, test", numbers.probability(sample.test_accuracy)))
        if both is not None:
            rows += [
                _row("mean distance, train", numbers.epsilon(both.train_mean, digits=4)),
                _row("mean distance, test", numbers.epsilon(both.test_mean, digits=4)),
                _row(
                    "difference of means",
                    numbers.epsilon(both.difference, digits=3),
                    f"{numbers.epsilon(both.low)} to {numbers.epsilon(both.high)}",
                ),
                _row("equal means (Welch)", f"p {p_value(both.welch_p)}", f"t = {numbers.epsilon(both.welch_t)}"),
                _row(
                    "equal variances (Levene)", f"p {p_value(both.levene_p)}", f"W = {numbers.epsilon(both.levene_w)}"
                ),
            ]
    for bound in found.subject.bounds:
        name = f"bound, {bound.name}"
        said = f"ε = {numbers.epsilon(bound.epsilon, digits=4, up=True)} at {numbers.delta(bound.delta)}"
        said += f"; if exchanged {numbers.probability(bound.swapped, up=True)}"
        rows.append(_row(name, numbers.probability(bound.success, up=True), said))
    return pd.DataFrame(rows, columns=["quantity", "value", "interval or source"])


def _row(quantity: str, value: str, more: str = "") -> dict[str, str]:
    return {"quantity": quantity, "value": value, "interval or source": more}


def data(found: Found) -> pd.DataFrame:
    """Long format: "quantity" and "value"; distances, losses, bounds."""
    parts = []
    if found.measured is not None:
        sample = found.measured.sample
        parts += [
            ("train_distance", sample.train_distances),
            ("test_distance", sample.test_distances),
            ("train_loss", sample.train_losses),
            ("test_loss", sample.test_losses),
            ("attack_accuracy", np.array([found.measured.attack.accuracy])),
            ("attack_low", np.array([found.measured.attack.low])),
            ("attack_high", np.array([found.measured.attack.high])),
        ]
    parts += [(f"bound_{bound.key}", np.array([bound.success])) for bound in found.subject.bounds]
    return pd.DataFrame(
        {
            "quantity": np.repeat([name for name, _ in parts], [values.size for _, values in parts]),
            "value": np.concatenate([values for _, values in parts]) if parts else np.empty(0),
        }
    )

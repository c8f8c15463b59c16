"""A gradient sample as Python source, for the scripts that pages export."""

from __future__ import annotations

from dpviz.ui.sources import Sample


def source_import(sample: Sample | None) -> list[str]:
    """Import lines for the sample's source; none without a sample."""
    if sample is None:
        return []
    return {
        "vectors": ["from dpviz.gradients.weibull import weibull_vectors"],
        "measured": ["from dpviz.training.measured import measure"],
        "upload": ["from pathlib import Path\n", "from dpviz.gradients.upload import read_distances"],
    }.get(str(sample.key[0]), ["from dpviz.gradients.families import draw_norms"])


def source_call(sample: Sample) -> str:
    """The call that draws or reads the same sample again."""
    kind, *rest = sample.key
    if kind == "vectors":
        vectors, dimensions, shape, pairing, seed = rest
        drawn = f"vectors={vectors}, dimensions={dimensions}, shape={shape}, pairing={pairing!r}, seed={seed}"
        return f"weibull_vectors({drawn})"
    if kind == "measured":
        model, step, examples, seed = rest
        return f"measure(model={model!r}, training_step={step}, examples={examples}, seed={seed})"
    if kind == "upload":
        name, column, _ = rest
        return f"read_distances(Path({name!r}).read_bytes(), {name!r}, {column!r})"
    count, shape, seed = rest
    return f"draw_norms({kind!r}, count={count}, shape={shape}, seed={seed})"

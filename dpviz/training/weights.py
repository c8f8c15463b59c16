"""The file of parameters that a run leaves behind, for later runs to start from and for attacks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from dpviz.training.files import whole_file
from dpviz.training.words import refusal


def save(path: str | Path, weights: Mapping[str, torch.Tensor], *, model: str, data: str) -> None:
    """Write what `stored_parameters` reads, beside `path` and renamed.

    Raises:
        OSError, RuntimeError: where there is no room or no permission.
    """
    content = {name: part.cpu().clone() for name, part in weights.items()}
    with whole_file(Path(path)) as file:
        torch.save(content | {"model": model, "data": data}, file)


def stored_parameters(path: str | Path) -> dict[str, Any]:
    """What a run saved: "parameters" (p,), "model" and "data".

    Raises:
        ValueError: if there is no such file or it holds something else.
    """
    try:
        if not Path(path).is_file():
            raise TypeError("there is no plain file")
        content = torch.load(path, map_location="cpu", weights_only=True)
        parameters = content["parameters"]
        if not isinstance(parameters, torch.Tensor) or parameters.ndim != 1:
            raise TypeError("no vector of parameters")
    except Exception as error:
        raise ValueError(f"Expected {path} to hold the parameters of a run: {error}.") from None
    return dict(content)


def start_parameters(path: str | Path, model: str, wanted: int, *, data: str | None = None) -> torch.Tensor:
    """The parameters (p,) that a run left, for a network of this model with p = `wanted`, trained on `data` if named.

    Raises:
        ValueError: if they are of another network.
    """
    content = stored_parameters(path)
    parameters: torch.Tensor = content["parameters"]
    if content.get("model") != model:
        raise refusal("weights_of_model", path=path, model=model, other=content.get("model"))
    if data is not None and content.get("data") != data:
        raise refusal("weights_of_data", path=path, data=data, other=content.get("data"))
    if parameters.numel() != wanted:
        raise refusal("weights_of_size", path=path, wanted=wanted, number=parameters.numel())
    return parameters

"""Facts of data sets and networks that the form needs before PyTorch is loaded, in words."""

import shutil
from pathlib import Path

from dpviz.training.data.own.place import available, data_of
from dpviz.training.models import MODELS
from dpviz.training.settings import RunSettings


def not_usable() -> tuple[str, ...]:
    """What is wrong with descriptions of data sets in DPVIZ_DATA that cannot be used."""
    return available()[1]


def unsuited(data: str, model: str) -> str:
    """Why `model` cannot read `data`, with the way out; empty where it can."""
    known = data_of(data)
    if model in known.parameters:
        return ""
    if not known.shape:
        return f"{known.title}: its description is not in the folder that DPVIZ_DATA names. Choose other data."
    wanted = MODELS[model].unfit(known.shape)
    named = " or ".join(MODELS[key].title for key in list(known.parameters)[:2])
    return f"{MODELS[model].title} needs {wanted}, but {known.title} has other examples: take {named}."


def trained_parameters(settings: RunSettings) -> int:
    """How many numbers a run trains."""
    known, model = data_of(settings.data), MODELS[settings.model]
    if settings.trained == RunSettings.trained or model.last_inputs is None:
        return known.parameters[settings.model]
    return model.last(known.classes)


def missing(data: str, folder: str = "") -> str:
    """What to know before starting on data whose files are not on this machine; empty where they are."""
    wanted = data_of(data)
    if not wanted.missing(folder or None):
        return ""
    hint = f" ({wanted.package_hint})" if wanted.package_hint else ""
    return (
        f"{wanted.title} is not on this machine. The run will try to download it, and fails with a message if it "
        f"cannot. Or put the files into {wanted.folders(folder or None)[0]}{hint}, or name a folder under Data folder."
    )


def graphics_card() -> bool:
    """Whether this machine seems to have a GPU that PyTorch could use."""
    return shutil.which("nvidia-smi") is not None or Path("/dev/nvidia0").exists()

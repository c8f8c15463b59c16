"""What the form must know of data sets and networks before PyTorch is loaded anywhere; a test compares it with them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

from dpviz.training import sources
from dpviz.training.defaults import EXAMPLES


class Data(NamedTuple):
    """A data set on the page: its title, the numbers of parameters by model that can read it, what one test example is
    called, and where its files come from (None: shipped)."""

    title: str
    parameters: dict[str, int]
    example: str
    source: sources.Source | None


_GREY = {"cnn": 26_010, "scattering": 39_700, "mlp": 101_770, "resnet": 77_818, "logistic": 7_850}
_COLOUR = {"cnn": 37_274, "mlp": 394_634, "resnet": 78_106, "logistic": 30_730}
_ADULT = {"mlp": 6_530, "logistic": 98}
_ABALONE = {"mlp": 1_666, "logistic": 22}


def _with_bayesian(found: dict[str, int]) -> dict[str, int]:
    return found | {"bayesian-logistic": found["logistic"]}


DATA: dict[str, Data] = {
    "mnist-10k": Data("MNIST, 10k digits", _with_bayesian(_GREY), "test digits", None),
    "mnist": Data("MNIST, 60k digits", _with_bayesian(_GREY), "test digits", sources.MNIST),
    "fashion-mnist": Data("Fashion-MNIST", _with_bayesian(_GREY), "test pictures", sources.FASHION_MNIST),
    "cifar10": Data("CIFAR-10", _with_bayesian(_COLOUR), "test pictures", sources.CIFAR10),
    "svhn": Data("SVHN house numbers", _with_bayesian(_COLOUR), "test pictures", sources.SVHN),
    "adult": Data("UCI Adult, incomes", _with_bayesian(_ADULT), "test people", None),
    "abalone": Data("UCI Abalone", _with_bayesian(_ABALONE), "test shells", None),
}

MODELS = {
    "cnn": "CNN, tanh",
    "scattering": "linear on scattering features",
    "mlp": "MLP, 128 hidden units",
    "logistic": "logistic regression",
    "resnet": "ResNet 8, group norm",
    "bayesian-logistic": "Bayesian logistic regression",
}


def examples(data: str) -> int:
    """N, the number of training examples."""
    return EXAMPLES[data]


def unsuited(data: str, model: str) -> str:
    """Why `model` can not read `data`, with the way out; empty where it can."""
    can = DATA[data].parameters
    if model in can:
        return ""
    wants = "grey images" if model == "scattering" else "images"
    named = " or ".join(MODELS[key] for key in list(can)[:2])
    return f"{MODELS[model]} reads {wants}, {DATA[data].title} is not made of those: take {named}."


def missing(data: str, folder: str = "") -> str:
    """What to know before starting on data whose files are not on this machine; empty where they are."""
    source = DATA[data].source
    if source is None:
        return ""
    places = sources.folders(source, folder or None)
    if all(any((place / name).is_file() for place in places for name in file.names) for file in source.files.values()):
        return ""
    hint = f" ({source.package_hint})" if source.package_hint else ""
    return (
        f"{DATA[data].title} is not on this machine: the run will try to download it, and offline it fails and says "
        f"so. Put the files into {places[0]}{hint}, or name a folder under Data folder."
    )


def graphics_card() -> bool:
    """Whether this machine seems to have a GPU that PyTorch could use."""
    return shutil.which("nvidia-smi") is not None or Path("/dev/nvidia0").exists()

"""Networks for any of the data sets, by name (`dpviz.training.models`)."""

from typing import Protocol

import torch
from torch import nn

from dpviz import _validate
from dpviz.training.data.catalogue import TrainingData
from dpviz.training.data.own.place import is_own
from dpviz.training.models import MODELS
from dpviz.training.progress import task
from dpviz.training.words import refusal


class Examples(Protocol):
    """What a network must know of a data set."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def classes(self) -> int: ...


def suits(model: str, data: Examples) -> None:
    """Refuses a model that cannot read these examples."""
    wanted = MODELS[_validate.choice("model", model, tuple(MODELS))].unfit(data.shape)
    if wanted:
        raise refusal("shape_of_model", model=model, wanted=wanted, shape=data.shape)


def build(model: str, data: Examples, *, seed: int) -> nn.Module:
    """The network for `prepared` data with weights drawn from `seed`; PyTorch's global generator is left as it was."""
    _validate.choice("model", model, tuple(MODELS))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return MODELS[model].make(data.shape, data.classes)


def freeze(network: nn.Module) -> int:
    """Leave the last layer alone to be trained; how many parameters stand before it and stay as they are."""
    last = [layer for layer in network.modules() if any(True for _ in layer.parameters(recurse=False))][-1]
    network.requires_grad_(False)
    last.requires_grad_(True)
    return sum(parameter.numel() for parameter in network.parameters() if not parameter.requires_grad)


def preparation(model: str, data: TrainingData) -> str:
    """What `prepared` is about to compute, in words, if that takes long; else ""."""
    features, images = MODELS[model].features, len(data.train_y) + len(data.test_y)
    if features is None:
        return ""
    if is_own(data.name):
        return f"Computing {features.words} of {images:,} images."
    if all(map(features.load().kept, (data.train_x, data.test_x))):
        return ""
    return f"Computing {features.words} of {images:,} images, once; they are kept on disk for the next run."


def prepared(model: str, data: TrainingData) -> TrainingData:
    """The data as `model` reads it: itself, or its fixed features, each example's from that example alone."""
    suits(model, data)
    features = MODELS[model].features
    if features is None:
        return data
    keep, module = not is_own(data.name), features.load()
    coming = [x for x in (data.train_x, data.test_x) if not (keep and module.kept(x))]
    with task(f"computing {features.words}", "images", sum(map(len, coming))):
        train_x, test_x = (module.features(images, keep=keep) for images in (data.train_x, data.test_x))
    return data._replace(train_x=train_x, test_x=test_x)

"""Fashion-MNIST: clothes in the format of MNIST (Xiao, Rasul, Vollgraf 2017)."""

from __future__ import annotations

from pathlib import Path

from dpviz.training.data.base import SCALED, DataSet, Parts
from dpviz.training.data.images import read_images
from dpviz.training.data.sources import DataFile, DataSource

SOURCE = DataSource(
    name="fashion-mnist",
    files={
        "train_images": DataFile(
            "train-images-idx3-ubyte", "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"
        ),
        "train_labels": DataFile(
            "train-labels-idx1-ubyte", "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"
        ),
        "test_images": DataFile(
            "t10k-images-idx3-ubyte", "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"
        ),
        "test_labels": DataFile(
            "t10k-labels-idx1-ubyte", "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"
        ),
    },
    mirrors=("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
    system_folder="/usr/share/datasets/fashion-mnist",
    package_hint="the Debian package dataset-fashion-mnist holds the four files",
)


def _read(folder: str | Path | None) -> Parts:
    return read_images(SOURCE, label="Fashion-MNIST", mean=0.2860, std=0.3530, folder=folder).parts()


FASHION_MNIST = DataSet(
    key="fashion-mnist",
    title="Fashion-MNIST",
    example="test pictures",
    examples=60_000,
    test_examples=10_000,
    shape=(1, 28, 28),
    classes=10,
    flips=True,
    note=f"MIT licence, {SCALED}",
    read=_read,
    source=SOURCE,
)

"""Folders of images, one folder a class: each file's size is looked at before its pixels are unpacked."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from dpviz.training.data.own.arrays import scaled_examples
from dpviz.training.data.own.describe import Description, Location, NotADataSet

FORMATS = ("PNG", "JPEG", "BMP", "PPM")
_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")  # eight bits a channel, or fewer
MOST_FILE = 2**26  # bytes of one image


def read_images(data: Description, part: Location) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Pixels (n, channels, height, width) and labels (n,) of a part, in the order of classes and file names.

    Raises:
        NotADataSet: naming the file.
        OSError: if the folder cannot be read.
    """
    x = np.empty((part.examples, *data.shape), dtype=np.float32)
    y = np.empty(part.examples, dtype=np.int64)
    done = 0
    for label, path in files(data, part):
        if done == part.examples:
            raise data.wrong_number(part, "more")
        pixels = _pixels(path, f"{part.file}/{path.parent.name}/{path.name}", data)
        x[done] = scaled_examples(pixels[None].astype(np.float64), data)[0]
        y[done] = label
        done += 1
    if done < part.examples:
        raise data.wrong_number(part, f"{done:,}")
    return x, y


def files(data: Description, part: Location) -> Iterator[tuple[int, Path]]:
    """Label and path of every image, hidden files left out."""
    root = data.folder / part.file
    with os.scandir(root) as entries:
        here = {entry.name for entry in entries if entry.is_dir() and not entry.name.startswith(".")}
    if here - set(data.classes):
        raise NotADataSet(
            f"{part.file}: expected folders named after the classes of {data.name}.toml only, found another. Add its "
            "class there, or take the folder away."
        )
    for label, name in enumerate(data.classes):
        if name in here:
            with os.scandir(root / name) as entries:
                names = sorted(entry.name for entry in entries if entry.is_file() and not entry.name.startswith("."))
            yield from ((label, root / name / file) for file in names)


def _pixels(path: Path, where: str, data: Description) -> npt.NDArray[np.uint8]:
    """As `data.stored`, bytes from 0 to 255."""
    channels, height, width = data.shape
    if path.stat().st_size > MOST_FILE:
        raise NotADataSet(f"{where}: expected a file of at most {MOST_FILE:,} bytes.")
    try:
        with warnings.catch_warnings(), path.open("rb") as file:
            warnings.simplefilter("ignore")  # Pillow's, of huge images: refused below
            with Image.open(file, formats=FORMATS) as image:
                if image.size != (width, height):
                    raise NotADataSet(
                        f"{where}: expected {width} × {height} pixels as declared, found {image.size[0]:,} × "
                        f"{image.size[1]:,}. Bring all images to one size."
                    )
                if image.mode not in _MODES:
                    raise NotADataSet(f"{where}: expected eight bits a channel. Save it again as PNG or JPEG.")
                pixels = np.asarray(image.convert("L" if channels == 1 else "RGB"))
    except NotADataSet:
        raise
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as problem:
        if isinstance(problem, OSError) and problem.errno is not None:
            raise
        raise NotADataSet(f"{where}: expected a whole image ({', '.join(FORMATS)}).") from None
    return pixels.reshape(data.stored)

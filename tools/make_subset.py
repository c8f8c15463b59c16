"""Makes the shipped digits from the whole MNIST: `python -m tools.make_subset FOLDER OUTPUT.npz`.

FOLDER holds the four idx files, whose checksums are looked at. The draw is uniform without replacement by NumPy's
PCG64 with the seed below, training part first; `train_source` and `test_source` say which image each one was.
"""

import sys
from pathlib import Path

import numpy as np

from dpviz.training.data import DATA_SETS
from dpviz.training.data.formats import Images, images

SEED = 20150912
TRAIN_SIZE, TEST_SIZE = 10_000, 2_000


def subset(whole: Images, *, train_size: int, test_size: int, seed: int) -> dict[str, np.typing.NDArray[np.generic]]:
    """Arrays of the shipped file: images and labels of both parts and their positions in the whole set."""
    draw = np.random.default_rng(seed)
    train = draw.choice(len(whole.train_labels), train_size, replace=False).astype(np.uint16)
    test = draw.choice(len(whole.test_labels), test_size, replace=False).astype(np.uint16)
    return {
        "train_images": whole.train_images[train],
        "train_labels": whole.train_labels[train],
        "train_source": train,
        "test_images": whole.test_images[test],
        "test_labels": whole.test_labels[test],
        "test_source": test,
    }


def main(folder: str, output: str) -> None:
    arrays = subset(images(DATA_SETS["mnist"], folder), train_size=TRAIN_SIZE, test_size=TEST_SIZE, seed=SEED)
    np.savez_compressed(Path(output), allow_pickle=False, **arrays)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("Usage: python -m tools.make_subset FOLDER OUTPUT.npz")
    main(sys.argv[1], sys.argv[2])

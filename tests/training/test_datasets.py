import hashlib
from importlib import resources

import numpy as np
import pytest
import torch

from dpviz.training.data import sources
from dpviz.training.data.catalogue import load
from dpviz.training.data.idx import write_idx
from dpviz.training.data.images import read_images
from dpviz.training.data.make_subset import SEED, subset
from dpviz.training.data.mnist import load_mnist_subset


def digest(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def test_the_shipped_digits_are_the_ones_that_were_drawn():
    digits = load_mnist_subset()
    assert digits.train_images.shape == (10_000, 28, 28)
    assert digits.test_images.shape == (2_000, 28, 28)
    assert digest(digits.train_images) == "eb47c2e509f93daa973e0a31306e57e3972958051f17f1f606fd25bcc36dc4ab"
    assert digest(digits.train_labels) == "cd08f36b1d25c73ae278d6ea39e4d8003207e4a51a472b1e07b5b7b7ea60c0ef"
    assert digest(digits.test_images) == "84df9532e6f4c62198b7503e4abfd440b25e1ba0de1d8a04dc94422736e56662"
    assert digest(digits.test_labels) == "04251a91ed0a2d6efc0a602f18c42c94f70e489893ef6be855ec6216143109eb"


def test_every_class_has_about_its_natural_share():
    digits = load_mnist_subset()
    for labels in (digits.train_labels, digits.test_labels):
        share = np.bincount(labels, minlength=10) / len(labels)
        assert share.size == 10
        assert 0.08 < share.min() < share.max() < 0.12


def test_the_source_positions_are_the_seeded_draw():
    # Repeats the first draw of make_subset with NumPy alone.
    with (resources.files("dpviz.training") / "data" / "mnist-12k.npz").open("rb") as file:
        stored = np.load(file)
        train, test = stored["train_source"], stored["test_source"]
    draw = np.random.default_rng(SEED)
    np.testing.assert_array_equal(train, draw.choice(60_000, 10_000, replace=False))
    np.testing.assert_array_equal(test, draw.choice(10_000, 2_000, replace=False))


def test_the_licence_lies_beside_the_data():
    text = (resources.files("dpviz.training") / "data" / "LICENSE-MNIST").read_text()
    for words in ("CC BY-SA 3.0", "Yann LeCun", "Corinna Cortes", "Christopher J.C. Burges", "Changes"):
        assert words in text


def test_arrays_are_kept_and_cannot_be_written_into():
    digits = load_mnist_subset()
    assert load_mnist_subset() is digits
    with pytest.raises(ValueError, match="read-only"):
        digits.train_images[0, 0, 0] = 1


def test_tensors_are_normalised_by_the_published_constants():
    digits, tensors = load_mnist_subset(), load("mnist-10k")
    assert tensors.train_x.shape == (10_000, 1, 28, 28)
    assert tensors.train_x.dtype == torch.float32
    assert tensors.train_y.dtype == torch.int64
    np.testing.assert_array_equal(tensors.test_y.numpy(), digits.test_labels)
    by_hand = (digits.test_images[7].astype(float) / 255 - 0.1307) / 0.3081
    np.testing.assert_allclose(tensors.test_x[7, 0].numpy(), by_hand, rtol=1e-5, atol=1e-6)
    # 10,000 × 784 pixels of the set whose constants they are: close to 0 and 1, not exactly.
    assert abs(float(tensors.train_x.mean())) < 0.01
    assert abs(float(tensors.train_x.std()) - 1) < 0.01


@pytest.fixture
def tiny(tmp_path):
    """A set of the MNIST family of 6 + 3 images in a folder of the user's."""
    draw = np.random.default_rng(1)
    arrays = {
        "train_images": draw.integers(0, 256, (6, 28, 28), dtype=np.uint8),
        "train_labels": draw.integers(0, 10, 6, dtype=np.uint8),
        "test_images": draw.integers(0, 256, (3, 28, 28), dtype=np.uint8),
        "test_labels": draw.integers(0, 10, 3, dtype=np.uint8),
    }

    def put(**changed):
        files = {}
        for role, array in (arrays | changed).items():
            raw = write_idx(array)
            (tmp_path / role).write_bytes(raw)
            files[role] = sources.DataFile(role, hashlib.sha256(raw).hexdigest())
        return sources.DataSource("tiny", files, mirrors=())

    return arrays, put, tmp_path


def test_the_idx_loader_reads_what_lies_in_a_folder(tiny):
    arrays, put, folder = tiny
    data = read_images(put(), label="tiny", mean=0.5, std=0.25, folder=folder)
    for role, array in arrays.items():
        np.testing.assert_array_equal(getattr(data, role), array)
    expected = (arrays["train_images"].astype(float) / 255 - 0.5) / 0.25
    np.testing.assert_allclose(data.parts()[0][:, 0], expected, atol=1e-5, rtol=1e-5)


def test_images_without_labels_are_refused(tiny):
    _, put, folder = tiny
    source = put(test_labels=np.zeros(4, dtype=np.uint8))
    with pytest.raises(ValueError, match="label for each test image"):
        read_images(source, label="tiny", mean=0.5, std=0.25, folder=folder)


def test_subset_draws_different_images_with_their_labels(tiny):
    arrays, put, folder = tiny
    whole = read_images(put(), label="tiny", mean=0.5, std=0.25, folder=folder)
    part = subset(whole, train_size=4, test_size=2, seed=3)
    assert len(set(part["train_source"].tolist())) == 4
    np.testing.assert_array_equal(part["train_images"], arrays["train_images"][part["train_source"]])
    np.testing.assert_array_equal(part["test_labels"], arrays["test_labels"][part["test_source"]])


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_a_damaged_file_of_the_users_is_refused(tmp_path, name):
    (tmp_path / "train-images-idx3-ubyte").write_bytes(b"no digits")
    with pytest.raises(ValueError, match="SHA-256"):
        load(name, tmp_path)

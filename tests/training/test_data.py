"""Data sets: where their files come from, what each format holds, and that those that are shipped are as announced."""

import gzip
import hashlib
import io
import json
import pickle
import struct
import tarfile
import urllib.error
from dataclasses import replace
from importlib import resources

import numpy as np
import pytest
import scipy.io
import torch
from hypothesis import given
from hypothesis.extra import numpy as hnp
from PIL import Image

from dpviz.training.data import DATA_SETS, catalogue
from dpviz.training.data.base import DataFile, DataSet, DataUnavailable
from dpviz.training.data.catalogue import load
from dpviz.training.data.formats import images, mnist_subset, parse_archive, parse_batch, parse_idx, parse_table
from tools.make_subset import SEED, subset

RAW = b"the very bytes"
PACKED = gzip.compress(RAW, mtime=0)
MIRRORS = ("https://first.example/", "https://second.example/")
LETTERS = DataSet(
    key="letters", title="Letters", example="test letters", mirrors=MIRRORS,
    files={"text": DataFile("letters-idx1-ubyte", hashlib.sha256(RAW).hexdigest())},
)  # fmt: skip
SHIPPED = ("mnist-10k", "adult", "abalone", "visits")


class Asked(list):
    """Addresses that were asked for; each is answered from `answers`, and without one there is no network."""

    answers = ()

    def __call__(self, address, timeout):
        self.append(address)
        content = self.answers[len(self) - 1] if self.answers else urllib.error.URLError("no network in tests")
        if isinstance(content, Exception):
            raise content
        return io.BytesIO(content)


@pytest.fixture(autouse=True)
def asked(monkeypatch):
    monkeypatch.setattr("urllib.request.urlopen", asked := Asked())
    monkeypatch.delenv("DPVIZ_DATA", raising=False)
    catalogue._loaded.cache_clear()
    yield asked
    catalogue._loaded.cache_clear()


def letters(folder=None):
    return LETTERS.fetched(folder)["text"]


@pytest.mark.parametrize("inside", ["", "letters"])
@pytest.mark.parametrize(("name", "raw"), [("letters-idx1-ubyte.gz", PACKED), ("letters-idx1-ubyte", RAW)])
def test_a_folder_of_the_users_is_enough(tmp_path, monkeypatch, inside, name, raw):
    (tmp_path / inside).mkdir(exist_ok=True)
    (tmp_path / inside / name).write_bytes(raw)
    assert letters(tmp_path) == RAW
    monkeypatch.setenv("DPVIZ_DATA", str(tmp_path))
    assert letters() == RAW


def test_a_broken_file_is_named_and_not_replaced(tmp_path):
    broken = tmp_path / "letters-idx1-ubyte.gz"
    broken.write_bytes(PACKED[:-6])
    with pytest.raises(ValueError, match="letters-idx1-ubyte.gz to be a gzip file"):
        letters(tmp_path)
    assert broken.read_bytes() == PACKED[:-6]


FAILURES = [urllib.error.URLError("down"), gzip.compress(b"other", mtime=0), b"<html>", PACKED[:10]]


@pytest.mark.parametrize("failure", FAILURES)
def test_the_second_mirror_is_asked_when_the_first_fails_or_lies(tmp_path, asked, failure):
    asked.answers = [failure, PACKED]
    assert letters(tmp_path) == letters(tmp_path) == RAW  # kept, and not asked again
    assert asked == [f"{mirror}letters-idx1-ubyte.gz" for mirror in MIRRORS]
    assert [path.name for path in (tmp_path / "letters").iterdir()] == ["letters-idx1-ubyte"]


def test_a_folder_that_cannot_be_written_loses_only_the_copy(tmp_path, asked):
    (tmp_path / "file").write_text("not a folder")
    asked.answers = [PACKED]
    assert letters(tmp_path / "file") == RAW


@pytest.mark.parametrize("name", DATA_SETS)
def test_each_set_is_as_announced_or_says_where_its_files_were_looked_for(name, tmp_path, monkeypatch):
    facts = DATA_SETS[name]
    if name in SHIPPED:
        data = load(name)
        assert not facts.missing()
        assert data.train_x.shape == (facts.examples, *facts.shape)
        assert data.test_x.shape == (facts.test_examples, *facts.shape)
        assert (len(data.train_y), len(data.test_y)) == (facts.examples, facts.test_examples)
        assert sorted(set(data.train_y.tolist())) == list(range(facts.classes))
        assert (data.train_x.dtype, data.train_y.dtype) == (torch.float32, torch.int64)
        assert torch.isfinite(data.train_x).all()
        assert (data.classes, data.shape) == (facts.classes, facts.shape)
        assert load(name) is data
        owners = data.persons
        assert (0 if owners is None else len(set(owners.tolist()))) == facts.persons
        assert owners is None or len(owners) == facts.examples
        return
    monkeypatch.setitem(DATA_SETS, name, replace(facts, system_folder=None))
    with pytest.raises(DataUnavailable) as caught:
        load(name, tmp_path)
    tried = (*facts.mirrors, "no network in tests") if facts.mirrors else ("none known",)
    for words in (f"{name} is not here", str(tmp_path), *tried, facts.package_hint, "DPVIZ_DATA"):
        assert words in str(caught.value)
    for file in facts.files.values():
        assert len(bytes.fromhex(file.sha256)) == 32
        (tmp_path / file.name).write_bytes(b"no data")
    with pytest.raises(ValueError, match="to have the SHA-256 [0-9a-f]{64}"):
        load(name, tmp_path)
    assert all((tmp_path / file.name).read_bytes() == b"no data" for file in facts.files.values())


def test_a_system_s_folder_is_looked_at(tmp_path):
    assert DATA_SETS["fashion-mnist"].folders(tmp_path)[-1].as_posix() == "/usr/share/datasets/fashion-mnist"


LICENCES = {
    "UCI": ("CC BY 4.0", "Barry Becker", "Ronny Kohavi", "Warwick Nash", "Changes"),
    "MNIST": ("CC BY-SA 3.0", "Yann LeCun", "Corinna Cortes", "Christopher J.C. Burges", "Changes"),
}


@pytest.mark.parametrize("file", LICENCES)
def test_the_licence_lies_beside_the_data(file):
    text = (resources.files("dpviz.training") / "data" / f"LICENSE-{file}").read_text()
    assert all(words in text for words in LICENCES[file])


ADULT = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, "
    "United-States, <=50K\n"
)


def test_adult_is_the_census():
    data = load("adult")
    assert float(data.train_y.double().mean()) == pytest.approx(7841 / 32561)  # the published count of > 50K
    assert float(data.test_y.double().mean()) == pytest.approx(3846 / 16281)
    # Every person is at most one of each category, and most are all.
    for start, end in ((5, 13), (13, 20), (20, 34), (34, 40), (40, 45), (45, 47)):
        assert data.train_x[:, start:end].sum(1).max() == 1.0
    assert data.train_x.abs().max() < 3.0


def test_rows_of_tables_by_hand():
    other = ADULT.replace("<=50K", ">50K.").replace("Male", "?")
    x, y = parse_table(f"|1x3 Cross validator\n{ADULT}\n{other}".encode(), DATA_SETS["adult"])
    assert y.tolist() == [0, 1]
    np.testing.assert_allclose(x[0, :5], [(39 - 45) / 25, (13 - 9) / 7, 0.0, np.log(2175) / 10, 0.0], rtol=1e-6)
    assert x[0, 5:].sum() == pytest.approx(7)
    assert x[1, 5:].sum() == pytest.approx(6)  # what is not known is no category
    raw = b"M,0.455,0.365,0.095,0.514,0.2245,0.101,0.15,15\nI,0.524,0.408,1.13,0.829,0.359,0.181,0.239,9\n"
    x, y = parse_table(raw, DATA_SETS["abalone"])
    assert y.tolist() == [1, 0]
    np.testing.assert_allclose(x[0, :4], [1, 0, 0, (0.455 - 0.524) / 0.12], rtol=1e-5)
    np.testing.assert_allclose(x[1], [0, 0, 1, 0, 0, 4, 0, 0, 0, 0], atol=1e-6)


def put(name, folder, files, monkeypatch, **more):
    """Stand-ins in a folder of the user's of a set's files, each with its own checksum."""
    made = {role: DataFile(role, hashlib.sha256(raw).hexdigest(), whole=True) for role, raw in files.items()}
    for role, raw in files.items():
        (folder / role).write_bytes(raw)
    stand_in = replace(DATA_SETS[name], files=made, mirrors=(), package_hint="by mail", **more)
    monkeypatch.setitem(DATA_SETS, name, stand_in)
    return stand_in


def idx_of(array):
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


@given(hnp.arrays(np.uint8, hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4)))
def test_idx_files_are_read(array):
    np.testing.assert_array_equal(parse_idx(idx_of(array)), array)


DIGESTS = {
    "train_images": "eb47c2e509f93daa973e0a31306e57e3972958051f17f1f606fd25bcc36dc4ab",
    "train_labels": "cd08f36b1d25c73ae278d6ea39e4d8003207e4a51a472b1e07b5b7b7ea60c0ef",
    "test_images": "84df9532e6f4c62198b7503e4abfd440b25e1ba0de1d8a04dc94422736e56662",
    "test_labels": "04251a91ed0a2d6efc0a602f18c42c94f70e489893ef6be855ec6216143109eb",
}


def test_the_shipped_digits_are_those_that_were_drawn():
    """Their positions in the whole set are the first draw of make_subset, repeated with NumPy alone; scaled as all."""
    for name, digest in DIGESTS.items():
        array = getattr(mnist_subset(), name)
        assert hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest() == digest
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with (resources.files("dpviz.training") / "data" / "mnist-12k.npz").open("rb") as file:
        stored = np.load(file)
        train, test = stored["train_source"], stored["test_source"]
    draw = np.random.default_rng(SEED)
    np.testing.assert_array_equal(train, draw.choice(60_000, 10_000, replace=False))
    np.testing.assert_array_equal(test, draw.choice(10_000, 2_000, replace=False))
    digits, tensors = mnist_subset(), load("mnist-10k")
    np.testing.assert_array_equal(tensors.test_y.numpy(), digits.test_labels)
    by_hand = (digits.test_images[7].astype(float) / 255 - 0.1307) / 0.3081
    np.testing.assert_allclose(tensors.test_x[7, 0].numpy(), by_hand, rtol=1e-5, atol=1e-6)


def test_a_set_of_the_family_is_read_and_a_part_of_it_drawn(tmp_path, monkeypatch):
    draw = np.random.default_rng(1)
    arrays = {
        f"{part}_{what}": draw.integers(0, 256 if shape else 10, (count, *shape), dtype=np.uint8)
        for part, count in (("train", 6), ("test", 3))
        for what, shape in (("images", (28, 28)), ("labels", ()))
    }
    data = put("mnist", tmp_path, {role: idx_of(array) for role, array in arrays.items()}, monkeypatch)
    whole = images(data, tmp_path)
    for role, array in arrays.items():
        np.testing.assert_array_equal(getattr(whole, role), array)
    by_hand = (arrays["train_images"].astype(float) / 255 - 0.1307) / 0.3081
    np.testing.assert_allclose(load("mnist", tmp_path).train_x[:, 0], by_hand, atol=1e-5, rtol=1e-5)
    part = subset(whole, train_size=4, test_size=2, seed=3)
    assert len(set(part["train_source"].tolist())) == 4
    np.testing.assert_array_equal(part["train_images"], arrays["train_images"][part["train_source"]])
    np.testing.assert_array_equal(part["test_labels"], arrays["test_labels"][part["test_source"]])


CIFAR_NAMES = (*(f"data_batch_{n}" for n in range(1, 6)), "test_batch")


def batch(draw, count, protocol):
    pixels = draw.integers(0, 256, (count, 3072), dtype=np.uint8)
    labels = draw.integers(0, 10, count).tolist()
    # Keys and array as the published pickles of Python 2 have them.
    raw = pickle.dumps({b"data": pixels, b"labels": labels, b"batch_label": b"x", b"filenames": [b"a"]}, protocol)
    if protocol == 2:  # as NumPy before 2.0 names its function
        raw = raw.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    return raw, pixels, labels


def archive(members):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as file:
        for name, content in members.items():
            info = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
    return raw.getvalue()


def picture(rows):
    raw = io.BytesIO()
    pixels = rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1).reshape(-1, 1024, 3)
    Image.fromarray(np.ascontiguousarray(pixels)).save(raw, "png")
    return raw.getvalue()


def test_the_cifar_archive_and_the_package_with_pictures_hold_the_same(tmp_path, monkeypatch):
    draw = np.random.default_rng(0)
    batches = {name: batch(draw, 4, 2 + number % 3) for number, name in enumerate(CIFAR_NAMES)}
    labels = [label for name in CIFAR_NAMES[:5] for label in batches[name][2]]
    pickled = archive({name: raw for name, (raw, *_) in batches.items()} | {"readme.html": b"hello"})
    files = {f"{name}.png": picture(pixels) for name, (_, pixels, _) in batches.items()}
    files["train_lables.json"] = json.dumps(labels).encode()
    packed = archive(files | {"test_lables.json": json.dumps(batches["test_batch"][2]).encode()})
    train, test = parse_archive(pickled)
    np.testing.assert_array_equal(test[0].reshape(4, -1), batches["test_batch"][1])
    assert train[1].tolist() == labels
    for one, other in zip((*train, *test), (part for half in parse_archive(packed) for part in half), strict=True):
        np.testing.assert_array_equal(one, other)
    # Through the loader: the archive is not there, its copy is, and each has a checksum of its own.
    data = put("cifar10", tmp_path, {"copy.tgz": packed}, monkeypatch)
    absent = DataFile("c.tar.gz", "0" * 64, whole=True, copies=(data.files["copy.tgz"],))
    monkeypatch.setitem(DATA_SETS, "cifar10", replace(data, files={"archive": absent}))
    tensors = load("cifar10", tmp_path)
    assert (tuple(tensors.train_x.shape), tensors.train_y.tolist()) == ((20, 3, 32, 32), train[1].tolist())
    red = batches["data_batch_1"][1][0, 0] / 255
    assert float(tensors.train_x[0, 0, 0, 0]) == pytest.approx((red - 0.4914) / 0.2470, rel=1e-4)


class Evil:
    def __reduce__(self):
        return (print, ("run by a pickle",))


@pytest.mark.parametrize("content", [Evil(), {b"data": Evil(), b"labels": []}, np.array([Evil()], dtype=object)])
def test_a_pickle_that_wants_more_than_arrays_is_refused(content, capsys):
    with pytest.raises(ValueError, match="is not an array|pickled batch"):
        parse_batch(pickle.dumps(content, 2))
    assert capsys.readouterr().out == ""


def mat(pixels, labels):
    raw = io.BytesIO()
    scipy.io.savemat(raw, {"X": pixels, "y": labels})
    return raw.getvalue()


def test_svhn_is_read_and_its_extra_pictures_follow_those_of_training(tmp_path, monkeypatch):
    draw = np.random.default_rng(0)
    counts = {"train": 5, "test": 3, "extra": 4}
    parts = {role: draw.integers(0, 256, (32, 32, 3, count), dtype=np.uint8) for role, count in counts.items()}
    labels = np.array([10, 1, 9, 10, 5], dtype=np.uint8)[:, None]
    files = {role: mat(pixels, labels[: counts[role]]) for role, pixels in parts.items()}
    usual = put("svhn", tmp_path, {role: files[role] for role in ("train", "test")}, monkeypatch)
    put("svhn-whole", tmp_path, {"extra": files["extra"]}, monkeypatch, extends=usual)
    data, whole = load("svhn", tmp_path), load("svhn-whole", tmp_path)
    assert (data.train_y.tolist(), data.test_x.shape) == ([0, 1, 9, 0, 5], (3, 3, 32, 32))
    assert whole.train_y.tolist() == [0, 1, 9, 0, 5, 0, 1, 9, 0]
    assert torch.equal(whole.train_x[:5], data.train_x)
    assert torch.equal(whole.test_x, data.test_x)
    for x, pixel in ((data.train_x[4], parts["train"][7, 9, 2, 4]), (whole.train_x[8], parts["extra"][7, 9, 2, 3])):
        assert float(x[2, 7, 9]) == pytest.approx((pixel / 255 - 0.4728) / 0.1970, rel=1e-4, abs=1e-5)
    for role in files:
        (tmp_path / role).unlink()
    catalogue._loaded.cache_clear()
    with pytest.raises(DataUnavailable, match=r"extra is in none.*\(by mail\)"):  # nothing else is fetched first
        load("svhn-whole", tmp_path)
    # What Li et al. 2019 train on: as many as their noise is computed for.
    assert DATA_SETS["svhn-whole"].examples == 73_257 + 531_131 == 604_388

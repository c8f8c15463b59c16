import hashlib
import io
import json
import pickle
import tarfile
from dataclasses import replace

import numpy as np
import pytest
import scipy.io
import torch
from PIL import Image

from dpviz.training.data import DATA_SETS, catalogue, cifar10, fashion_mnist, svhn
from dpviz.training.data.abalone import parse_abalone
from dpviz.training.data.adult import parse_adult
from dpviz.training.data.base import coloured
from dpviz.training.data.catalogue import load
from dpviz.training.data.cifar10 import parse_archive, parse_batch
from dpviz.training.data.sources import DataFile, DataSource, DataUnavailable


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError("no network in tests")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    catalogue._loaded.cache_clear()
    yield
    catalogue._loaded.cache_clear()


@pytest.mark.parametrize("name", [name for name, found in DATA_SETS.items() if found.source is None])
def test_shipped_sets_are_as_announced(name):
    data, known = load(name), DATA_SETS[name]
    assert data.train_x.shape == (known.examples, *known.shape)
    assert data.test_x.shape == (known.test_examples, *known.shape)
    assert data.train_y.shape == (known.examples,)
    assert sorted(set(data.train_y.tolist())) == list(range(known.classes))
    assert data.train_x.dtype == torch.float32
    assert torch.isfinite(data.train_x).all()
    assert (data.classes, data.shape) == (known.classes, known.shape)
    assert load(name) is data


@pytest.mark.parametrize("name", [name for name, found in DATA_SETS.items() if found.source is not None])
def test_sets_that_are_not_here_say_where_they_were_looked_for(name, tmp_path, monkeypatch):
    monkeypatch.setattr(fashion_mnist, "SOURCE", replace(fashion_mnist.SOURCE, system_folder=None))
    with pytest.raises(DataUnavailable) as caught:
        load(name, tmp_path)
    tried = "no network in tests" if DATA_SETS[name].source.mirrors else "none known"
    for words in (f"{name} is not here", str(tmp_path), tried, "DPVIZ_DATA"):
        assert words in str(caught.value)


def test_adult_is_the_census():
    data = load("adult")
    assert float(data.train_y.double().mean()) == pytest.approx(7841 / 32561)  # the published count of > 50K
    assert float(data.test_y.double().mean()) == pytest.approx(3846 / 16281)
    # Every person is at most one of each category, and most are all.
    for start, end in ((5, 13), (13, 20), (20, 34), (34, 40), (40, 45), (45, 47)):
        assert data.train_x[:, start:end].sum(1).max() == 1.0
    assert data.train_x.abs().max() < 3.0


ADULT_ROW = (
    b"39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, "
    b"United-States, <=50K\n"
)


def test_a_row_of_adult_by_hand():
    raw = b"|1x3 Cross validator\n" + ADULT_ROW + b"\n" + ADULT_ROW.replace(b"<=50K", b">50K.").replace(b"Male", b"?")
    x, y = parse_adult(raw)
    assert y.tolist() == [0, 1]
    np.testing.assert_allclose(x[0, :5], [(39 - 45) / 25, (13 - 9) / 7, 0.0, np.log(2175) / 10, 0.0], rtol=1e-6)
    assert x[0].sum() == pytest.approx(x[0, :5].sum() + 7)
    assert x[1].sum() == pytest.approx(x[0, :5].sum() + 6)  # what is not known is no category


def test_rows_of_abalone_by_hand():
    raw = b"M,0.455,0.365,0.095,0.514,0.2245,0.101,0.15,15\nI,0.524,0.408,1.13,0.829,0.359,0.181,0.239,9\n"
    x, y = parse_abalone(raw)
    assert y.tolist() == [1, 0]
    np.testing.assert_allclose(x[0, :4], [1, 0, 0, (0.455 - 0.524) / 0.12], rtol=1e-5)
    np.testing.assert_allclose(x[1], [0, 0, 1, 0, 0, 4, 0, 0, 0, 0], atol=1e-6)


def batch(draw, count, protocol=2):
    images = draw.integers(0, 256, (count, 3072), dtype=np.uint8)
    labels = draw.integers(0, 10, count).tolist()
    # Keys and array as the published pickles of Python 2 have them.
    raw = pickle.dumps({b"data": images, b"labels": labels, b"batch_label": b"x", b"filenames": [b"a"]}, protocol)
    return raw, images, labels


def archive(members):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as found:
        for name, content in members.items():
            info = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            info.size = len(content)
            found.addfile(info, io.BytesIO(content))
    return raw.getvalue()


CIFAR_NAMES = (*(f"data_batch_{n}" for n in range(1, 6)), "test_batch")


def test_a_small_cifar_archive_is_read(tmp_path, monkeypatch):
    draw = np.random.default_rng(0)
    batches = {name: batch(draw, 4) for name in CIFAR_NAMES}
    raw = archive({name: found[0] for name, found in batches.items()} | {"readme.html": b"hello"})
    parts = parse_archive(raw)
    np.testing.assert_array_equal(parts["test_images"].reshape(4, -1), batches["test_batch"][1])
    assert parts["train_labels"].tolist() == [label for name in CIFAR_NAMES[:5] for label in batches[name][2]]
    # Through the loader, with its checksum.
    source = DataSource("cifar10", {"archive": DataFile("c.tar.gz", hashlib.sha256(raw).hexdigest(), whole=True)}, ())
    monkeypatch.setattr(cifar10, "SOURCE", source)
    (tmp_path / "c.tar.gz").write_bytes(raw)
    data = load("cifar10", tmp_path)
    assert data.train_x.shape == (20, 3, 32, 32)
    red = batches["data_batch_1"][1][0, 0] / 255
    assert float(data.train_x[0, 0, 0, 0]) == pytest.approx((red - 0.4914) / 0.2470, rel=1e-4)
    (tmp_path / "c.tar.gz").write_bytes(raw + b"x")
    catalogue._loaded.cache_clear()
    with pytest.raises(ValueError, match="SHA-256"):
        load("cifar10", tmp_path)


def test_the_package_with_pictures_holds_the_same(tmp_path, monkeypatch):
    draw = np.random.default_rng(0)
    batches = {name: batch(draw, 4) for name in CIFAR_NAMES}

    def picture(images):
        raw = io.BytesIO()
        pixels = images.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1).reshape(-1, 1024, 3)
        Image.fromarray(np.ascontiguousarray(pixels)).save(raw, "png")
        return raw.getvalue()

    def labels(*names):
        return json.dumps([label for name in names for label in batches[name][2]]).encode()

    files = {f"{name}.png": picture(found[1]) for name, found in batches.items()}
    files |= {"train_lables.json": labels(*CIFAR_NAMES[:5]), "test_lables.json": labels("test_batch")}
    expected = parse_archive(archive({name: found[0] for name, found in batches.items()}))
    raw = archive(files)
    found = parse_archive(raw)
    for part, values in expected.items():
        np.testing.assert_array_equal(found[part], values)
    # Through the loader: the archive is not there, its copy is, and each has a checksum of its own.
    copy = DataFile("copy.tgz", hashlib.sha256(raw).hexdigest(), whole=True)
    source = DataSource("cifar10", {"archive": DataFile("c.tar.gz", "0" * 64, whole=True, copies=(copy,))}, ())
    monkeypatch.setattr(cifar10, "SOURCE", source)
    (tmp_path / "copy.tgz").write_bytes(raw)
    assert load("cifar10", tmp_path).train_y.tolist() == expected["train_labels"].tolist()
    with pytest.raises(ValueError, match="as many pictures as test_lables"):
        parse_archive(archive(files | {"test_lables.json": b"[1, 2, 3]"}))
    with pytest.raises(ValueError, match="pictures and labels in test_batch"):
        parse_archive(archive(files | {"test_batch.png": b"no picture"}))


class Evil:
    def __reduce__(self):
        return (print, ("run by a pickle",))


@pytest.mark.parametrize("content", [Evil(), {b"data": Evil(), b"labels": []}, np.array([Evil()], dtype=object)])
def test_a_pickle_that_wants_more_than_arrays_is_refused(content, capsys):
    with pytest.raises(ValueError, match="is not an array|pickled batch"):
        parse_batch(pickle.dumps(content, 2))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_batches_of_several_pickle_protocols_are_read(protocol):
    raw, images, labels = batch(np.random.default_rng(1), 3, protocol)
    found, classes = parse_batch(raw)
    np.testing.assert_array_equal(found.reshape(3, -1), images)
    assert classes.tolist() == labels


def test_damaged_archives_are_refused():
    with pytest.raises(ValueError, match="tar archive"):
        parse_archive(b"nothing")
    draw = np.random.default_rng(0)
    cut = archive({name: batch(draw, 1)[0] for name in CIFAR_NAMES[:4]})
    with pytest.raises(ValueError, match="data_batch_5, test_batch are not there"):
        parse_archive(cut)


def mat(images, labels):
    raw = io.BytesIO()
    scipy.io.savemat(raw, {"X": images, "y": labels})
    return raw.getvalue()


@pytest.fixture
def small_svhn(tmp_path, monkeypatch):
    """Stand-ins of its three files in a folder; their pictures (32, 32, 3, n)."""
    draw, files = np.random.default_rng(0), {}
    parts = {}
    for role, count in (("train", 5), ("test", 3), ("extra", 4)):
        images = draw.integers(0, 256, (32, 32, 3, count), dtype=np.uint8)
        labels = np.array([10, 1, 9, 10, 5][:count], dtype=np.uint8)[:, None]
        raw = mat(images, labels)
        (tmp_path / f"{role}.mat").write_bytes(raw)
        files[role] = DataFile(f"{role}.mat", hashlib.sha256(raw).hexdigest(), whole=True)
        parts[role] = images
    monkeypatch.setattr(svhn, "SOURCE", DataSource("svhn", files, ()))
    monkeypatch.setattr(svhn, "EXTRA", replace(svhn.EXTRA, files=files))
    return parts


def test_a_small_svhn_is_read(tmp_path, small_svhn):
    data = load("svhn", tmp_path)
    assert data.train_y.tolist() == [0, 1, 9, 0, 5]
    assert data.test_x.shape == (3, 3, 32, 32)
    pixel = small_svhn["train"][7, 9, 2, 4] / 255
    assert float(data.train_x[4, 2, 7, 9]) == pytest.approx((pixel - 0.4728) / 0.1970, rel=1e-4, abs=1e-5)


def test_svhn_s_extra_pictures_follow_those_of_training(tmp_path, small_svhn):
    data, usual = load("svhn-whole", tmp_path), load("svhn", tmp_path)
    assert data.train_y.tolist() == [0, 1, 9, 0, 5, 0, 1, 9, 0]
    assert torch.equal(data.train_x[:5], usual.train_x)
    assert torch.equal(data.test_x, usual.test_x)
    pixel = small_svhn["extra"][7, 9, 2, 3] / 255
    assert float(data.train_x[8, 2, 7, 9]) == pytest.approx((pixel - 0.4728) / 0.1970, rel=1e-4, abs=1e-5)
    (tmp_path / "extra.mat").unlink()
    catalogue._loaded.cache_clear()
    with pytest.raises(DataUnavailable, match=r"extra.mat is in none.*\(1.3 GB, from http://ufldl"):
        load("svhn-whole", tmp_path)
    # What Li et al. 2019 train on: as many as their noise is computed for.
    assert DATA_SETS["svhn-whole"].examples == 73_257 + 531_131 == 604_388


def test_colours_are_scaled_channel_by_channel():
    part = np.full((1, 3, 2, 2), 255, np.uint8), np.array([7], np.uint8)
    x, y, _, _ = coloured(part, part, (0.5, 0.25, 0.0), (0.5, 0.25, 2.0))
    assert (x[0, :, 1, 1].tolist(), y.tolist()) == ([1.0, 3.0, 0.5], [7])


def test_the_licence_lies_beside_the_tables():
    from importlib import resources

    text = (resources.files("dpviz.training") / "data" / "LICENSE-UCI").read_text()
    for words in ("CC BY 4.0", "Barry Becker", "Ronny Kohavi", "Warwick Nash", "Changes"):
        assert words in text

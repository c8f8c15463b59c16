import gzip
import hashlib
import io
import urllib.error

import pytest

from dpviz.training.data import fashion_mnist, mnist, sources
from dpviz.training.data.sources import DataFile, DataSource, DataUnavailable, fetch, folders

RAW = b"the very bytes"
SOURCE = DataSource(
    name="letters",
    files={"text": DataFile("letters-idx1-ubyte", hashlib.sha256(RAW).hexdigest())},
    mirrors=("https://first.example/", "https://second.example/"),
    package_hint="the package letters holds it",
)


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(address, timeout):
        raise urllib.error.URLError("no network in tests")

    monkeypatch.setattr(sources.urllib.request, "urlopen", refuse)
    monkeypatch.delenv("DPVIZ_DATA", raising=False)


def answering(monkeypatch, answers):
    asked = []

    def answer(address, timeout):
        asked.append(address)
        found = answers[len(asked) - 1]
        if isinstance(found, Exception):
            raise found
        return io.BytesIO(found)

    monkeypatch.setattr(sources.urllib.request, "urlopen", answer)
    return asked


@pytest.mark.parametrize("inside", ["", "letters"])
@pytest.mark.parametrize("packed", [True, False])
def test_a_folder_of_the_users_is_enough(tmp_path, monkeypatch, inside, packed):
    place = tmp_path / inside
    place.mkdir(exist_ok=True)
    if packed:
        (place / "letters-idx1-ubyte.gz").write_bytes(gzip.compress(RAW))
    else:
        (place / "letters-idx1-ubyte").write_bytes(RAW)
    assert fetch(SOURCE, "text", tmp_path) == RAW
    monkeypatch.setenv("DPVIZ_DATA", str(tmp_path))
    assert fetch(SOURCE, "text") == RAW


def test_a_wrong_file_is_named_and_not_replaced(tmp_path):
    path = tmp_path / "letters-idx1-ubyte"
    path.write_bytes(b"other bytes")
    with pytest.raises(ValueError, match="letters-idx1-ubyte") as error:
        fetch(SOURCE, "text", tmp_path)
    assert SOURCE.files["text"].sha256 in str(error.value)
    assert path.read_bytes() == b"other bytes"


def test_a_broken_archive_is_named(tmp_path):
    (tmp_path / "letters-idx1-ubyte.gz").write_bytes(gzip.compress(RAW)[:-6])
    with pytest.raises(ValueError, match="gzip"):
        fetch(SOURCE, "text", tmp_path)


def test_offline_says_where_it_looked_and_what_to_do(tmp_path):
    with pytest.raises(DataUnavailable) as error:
        fetch(SOURCE, "text", tmp_path)
    for words in (
        str(tmp_path),
        "first.example",
        "second.example",
        "no network in tests",
        "DPVIZ_DATA",
        "package letters",
    ):
        assert words in str(error.value)


def test_the_second_mirror_is_asked_when_the_first_fails_or_lies(tmp_path, monkeypatch):
    for failure in (urllib.error.URLError("down"), gzip.compress(b"other"), b"<html>", gzip.compress(RAW)[:10]):
        place = tmp_path / str(hash(str(failure)))
        asked = answering(monkeypatch, [failure, gzip.compress(RAW)])
        assert fetch(SOURCE, "text", place) == RAW
        assert asked == [
            "https://first.example/letters-idx1-ubyte.gz",
            "https://second.example/letters-idx1-ubyte.gz",
        ]


def test_a_download_is_kept_and_not_asked_again(tmp_path, monkeypatch):
    asked = answering(monkeypatch, [gzip.compress(RAW)])
    assert fetch(SOURCE, "text", tmp_path) == RAW
    assert fetch(SOURCE, "text", tmp_path) == RAW
    assert len(asked) == 1
    assert [path.name for path in (tmp_path / "letters").iterdir()] == ["letters-idx1-ubyte"]


def test_a_folder_that_cannot_be_written_loses_only_the_copy(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    answering(monkeypatch, [gzip.compress(RAW)])
    assert fetch(SOURCE, "text", blocked) == RAW


def test_the_system_folder_of_fashion_mnist_is_looked_at(tmp_path):
    assert folders(fashion_mnist.SOURCE, tmp_path)[-1].as_posix() == "/usr/share/datasets/fashion-mnist"


def test_every_set_names_four_files_with_checksums():
    for source in (mnist.SOURCE, fashion_mnist.SOURCE):
        assert set(source.files) == {"train_images", "train_labels", "test_images", "test_labels"}
        assert len({file.sha256 for file in source.files.values()}) == 4
        assert all(len(bytes.fromhex(file.sha256)) == 32 for file in source.files.values())

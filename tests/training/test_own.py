"""Data sets of one's own: what a description must say, what its files may hold, and what is never computed or told."""

import hashlib
import io
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dpviz.training.data.base import DataUnavailable
from dpviz.training.data.own import place
from dpviz.training.data.own.describe import NotADataSet, described
from dpviz.training.data.own.read import KEY, content, mark, read
from tests import own_sets
from tests.own_sets import ARRAYS, IMAGES, TABLE


def everything(path: Path) -> np.ndarray:
    """Features of both parts, with the label last."""
    parts = read(described(path))
    x, y = np.concatenate([parts.train_x, parts.test_x]), np.concatenate([parts.train_y, parts.test_y])
    return np.column_stack([x, y])


def test_a_table_is_scaled_as_declared(tmp_path: Path) -> None:
    data = described(own_sets.table(tmp_path))
    parts, rows = read(data), everything(tmp_path / "tea.toml")
    assert (data.examples, data.test_examples) == (len(parts.train_y), len(parts.test_y)) == (48, 12)
    assert data.shape == (4,)
    assert sorted(np.unique(rows[:, 0]).tolist()) == pytest.approx([at / 5 - 1 for at in range(10)])
    assert rows[:, 1].min() == pytest.approx(-1.0)
    assert (rows[:, 2:4].sum(axis=1) == 1).all()
    # The same rows whichever part they are in: minutes above 5 are "no".
    assert ((rows[:, 0] > 0.0) == (rows[:, 4] == 0)).all()


def test_a_split_follows_its_own_seed(tmp_path: Path) -> None:
    first, again = (read(described(own_sets.table(tmp_path))).test_x for _ in range(2))
    other = read(described(own_sets.table(tmp_path, TABLE.replace("seed = 1", "seed = 2")))).test_x
    assert (first == again).all()
    assert not (first == other).all()


def test_values_beyond_the_range_count_as_its_ends(tmp_path: Path) -> None:
    rows = ["-99,1e9,black,no", ",80,green,yes"] + ["5,80,black,no"] * 58
    numbers = everything(own_sets.table(tmp_path, rows=rows)).tolist()
    assert [-1.0, 5.0, 1.0, 0.0, 0.0] in numbers
    assert [0.0, 0.0, 0.0, 1.0, 1.0] in numbers  # the empty cell is 5, as declared


def test_arrays_and_labels_of_a_class_list(tmp_path: Path) -> None:
    parts, raw = read(described(own_sets.arrays(tmp_path))), own_sets.signs()
    assert parts.train_x.shape == (40, 1, 16, 16)
    np.testing.assert_allclose(parts.train_x[:, 0], raw["train_x"] / 127.5 - 1.0, atol=1e-6)
    assert (parts.train_y == (raw["train_y"] == 7)).all()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("stored", "axes"), [([4, 6, 3], (0, 3, 1, 2)), ([3, 4, 6], (0, 1, 2, 3))])
def test_channels_are_scaled_each_by_its_own(tmp_path: Path, stored: list[int], axes: tuple[int, ...], order) -> None:
    draw, by_channel = np.random.default_rng(1), (slice(None), None, None)
    many = {name: draw.uniform(0, 1, (count, *stored)) for name, count in (("train_x", 40), ("test_x", 10))}
    scale = f"shape = {stored}\nscale = {{ mean = [0, 1, 2], std = [1, 2, 4] }}"
    text = ARRAYS.replace("shape = [16, 16]\nscale = { low = 0, high = 255 }", scale)
    kept = {name: np.asarray(array, order=order) for name, array in many.items()}
    wanted = (many["train_x"].transpose(axes) - np.arange(3)[by_channel]) / np.array([1, 2, 4])[by_channel]
    np.testing.assert_allclose(read(described(own_sets.arrays(tmp_path, text, **kept))).train_x, wanted, atol=1e-6)


def test_images_in_folders_of_classes(tmp_path: Path) -> None:
    parts = read(described(own_sets.images(tmp_path)))
    assert parts.train_x.shape == (12, 3, 16, 16)
    assert parts.train_y.tolist() == [0] * 6 + [1] * 6
    np.testing.assert_allclose(parts.train_x[7, :, 0, 0], (np.array([200, 10, 90]) - 127) / 64, atol=1e-6)


def test_grey_images_of_colour_files(tmp_path: Path) -> None:
    text = IMAGES.replace("[16, 16, 3]", "[16, 16]").replace("[127, 127, 127]", "127")
    assert read(described(own_sets.images(tmp_path, text))).train_x.shape == (12, 1, 16, 16)


def forged(folder: Path, member: bytes, name: str = "train_x") -> None:
    """signs.npz with another array in place of one."""
    old = zipfile.ZipFile(io.BytesIO((folder / "signs.npz").read_bytes()))
    with zipfile.ZipFile(folder / "signs.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in old.namelist():
            archive.writestr(entry, member if entry == f"{name}.npy" else old.read(entry))


def npy(shape: str, descr: str = "|u1", rest: bytes = b"") -> bytes:
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + rest


NUMBERS = b"\0" * (40 * 256)
ARRAY = r"signs\.npz, array 'train_x'.*"
FORGED = [
    (npy("(40, 16000, 16000)"), ARRAY + r"expected shape \(40, 16, 16\) as declared, found \(40, 16000"),  # 10 GB
    (npy("(10**99,)"), ARRAY + "expected an array as numpy.savez writes it"),
    (npy("(40, 16, 16)", rest=b"\0" * 99), ARRAY + "cut off or padded"),
    (npy("(40, 16, 16)", rest=NUMBERS + b"\0" * 10**7), ARRAY + "cut off or padded"),
    (npy("(40, 16, 16)", "|O", NUMBERS), ARRAY + "Python objects, which are never read"),
    (npy("(40, 16, 16)", "|V9", NUMBERS * 9), ARRAY + "expected numbers, found type"),
    (b"hello", ARRAY + "expected an array as numpy.savez writes it"),
    (npy("(40, 16, 16)", "<f4", b"\xff" * (4 * len(NUMBERS))), ARRAY + "example 0: expected finite numbers"),
]


def test_a_length_that_no_packed_file_can_have_is_refused_before_it_is_allocated(tmp_path: Path) -> None:
    """The directory of the zip file claims two gigabytes; the file holds a few bytes."""
    text = ARRAYS.replace("examples = 40", "examples = 2000000")
    data = described(own_sets.arrays(tmp_path, text))
    forged(tmp_path, npy("(2000000, 16, 16)"))
    raw = bytearray((tmp_path / "signs.npz").read_bytes())
    at = raw.index(b"PK\x01\x02")
    raw[at + 24 : at + 28] = (2_000_000 * 256 + 128).to_bytes(4, "little")
    (tmp_path / "signs.npz").write_bytes(raw)
    with pytest.raises(NotADataSet, match="cut off or padded"):
        read(data)


PICTURE = "pets/train/cat/3.png"


def huge(side: int) -> bytes:
    head = b"IHDR" + side.to_bytes(4) * 2 + b"\x08\x02\0\0\0"
    chunk = (13).to_bytes(4) + head + zlib.crc32(head).to_bytes(4)
    return b"\x89PNG\r\n\x1a\n" + chunk + b"\0\0\0\4IDAT"


def cut_to(size: int) -> Callable[[Path], None]:
    return lambda folder: (folder / PICTURE).write_bytes((folder / PICTURE).read_bytes()[:size])


def holding(name: str, raw: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(raw)


TEA, SIGNS, PETS = own_sets.table, own_sets.arrays, own_sets.images
# The set, what is done to its folder, and the refusal; images of other sizes are refused before they are unpacked.
SPOILED = [
    (TEA, holding("tea.csv", "minutes,leaf\n1,grün\n".encode("latin-1")), r"tea\.csv: expected text in UTF-8"),
    (SIGNS, holding("signs.npz", b"hello"), r"signs\.npz: expected a file of numpy\.savez"),
    (PETS, holding(PICTURE, huge(9_000)), rf"{PICTURE}: .*found 9,000 × 9,000"),
    (PETS, holding(PICTURE, huge(60_000)), rf"{PICTURE}: .*expected a whole image"),
    *((PETS, cut_to(size), f"{PICTURE}: expected a whole image") for size in (0, 8, 60)),
    (PETS, lambda to: Image.new("I;16", (16, 16)).save(to / PICTURE), "eight bits a channel"),
    (PETS, lambda to: (to / "pets/train/bird").mkdir(), "folders named after the classes"),
    *(
        (
            partial(PETS, description=IMAGES.replace("= 12", f"= {count}")),
            lambda _: None,
            f"{count} images.*found {other}",
        )
        for count, other in ((11, "more"), (13, "12"))
    ),
    *((SIGNS, partial(forged, member=member), words) for member, words in FORGED),
]


@pytest.mark.parametrize("case", range(len(SPOILED)))
def test_files_that_hold_something_else_are_refused(tmp_path: Path, case: int) -> None:
    make, spoil, words = SPOILED[case]
    data = described(make(tmp_path))
    spoil(tmp_path)
    with pytest.raises(NotADataSet, match=words):
        read(data)


def test_sets_of_a_folder_and_what_is_wrong_with_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_sets.table(tmp_path)
    (tmp_path / "Tea 2.toml").write_text(TABLE)
    (tmp_path / "broken.toml").write_text("kind = 3")
    monkeypatch.setenv("DPVIZ_DATA", str(tmp_path))
    sets, problems = place.available()
    assert list(sets) == ["own:tea"]
    assert ["Tea 2.toml" in problems[0], "broken.toml" in problems[1]] == [True, True]
    monkeypatch.setenv("DPVIZ_DATA", str(tmp_path / "nowhere"))
    assert place.available() == ({}, ())


def test_a_machine_without_the_folder_says_which_file_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DPVIZ_DATA", raising=False)
    with pytest.raises(DataUnavailable, match=r"own:tea is not on the machine that trains.*DPVIZ_DATA.*tea\.toml"):
        place.find("own:tea")
    with pytest.raises(DataUnavailable, match=r"tea\.toml is not in .*every machine that has workers"):
        place.find("own:tea", tmp_path)
    own_sets.table(tmp_path)
    (tmp_path / "tea.csv").unlink()
    with pytest.raises(DataUnavailable, match=r"tea: tea\.csv is not on the machine that trains"):
        read(place.find("own:tea", tmp_path))


def test_other_content_has_another_digest(tmp_path: Path) -> None:
    data = described(own_sets.images(tmp_path))
    first = content(data)
    assert first == content(data)
    Image.new("RGB", (16, 16)).save(tmp_path / "pets/test/cat/0.png")
    assert content(data) != first


def test_a_mark_says_nothing_without_the_key(tmp_path: Path) -> None:
    """A plain hash would tell who knows all rows but one whether the last one is there."""
    data = described(own_sets.table(tmp_path))
    digest = content(data)
    first = mark(data, digest)
    assert first == mark(data, digest)
    assert (tmp_path / KEY).stat().st_mode & 0o077 == 0
    assert first not in (digest[:32], hashlib.sha256(digest.encode()).hexdigest()[:32])
    (tmp_path / KEY).unlink()
    assert mark(data, digest) != first
    assert sorted(path.name for path in tmp_path.iterdir()) == [KEY, "tea.csv", "tea.toml"]
    (tmp_path / KEY).unlink()
    (tmp_path / KEY).mkdir()  # where there can be no key there is no mark
    assert mark(data, digest) == ""

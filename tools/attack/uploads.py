"""Mutated files of gradient distances: each is refused in words, or becomes numbers that every accountant takes.

python -m tools.attack.uploads --count 3900 --seed 1
"""

import argparse
import io
import random
import time
import warnings

import numpy as np

import dpviz
from dpviz.gradients.upload import columns, read_distances
from tools.attack.outcome import Outcome, TooLong, at_most, place, resident, rows

SECONDS = 5.0  # for one file
WHOLE_SECONDS = 300.0

_PIECES = (
    b"", b"\n", b"\r\n", b",", b";", b"\t", b'"', b"\x00", b"\xff", b"\xef\xbb\xbf", b"nan", b"inf", b"-1", b"1e999",
    b"1e308", b"5e-324", b"x", b"norm", "é".encode(), b"1_000", b"0x10", b"#", b"[a](x)", b"9" * 5_000,
    b"(", b"{", b"\x93NUMPY", b"PK\x03\x04", b"<f8", b"|O", b"|S9", b">i2", b"<c16", b"True", b"400000000000", b"-5",
    b"1\n" * 20_000, b"," * 20_000, b"a," * 300,
)  # fmt: skip


def originals() -> list[tuple[str, bytes]]:
    """Good files of every kind."""
    norms = np.abs(np.random.default_rng(0).normal(size=40))
    text = "\n".join(f"{value:.6g}" for value in norms)
    pairs = "\n".join(f"{i};{value:.6g}" for i, value in enumerate(norms))
    found = [("a.csv", text.encode()), ("b.csv", f"norm\n{text}".encode()), ("c.txt", f"id;norm\n{pairs}".encode())]
    found += [("e.csv", f"id;norm\n{pairs}".replace(".", ",").encode()), ("f.csv", f'"norm"\n{text}'.encode())]
    found += [("g.json", str([[0.5, i, float(value)] for i, value in enumerate(norms)]).encode())]
    for array in (norms, norms.astype(np.float32).reshape(20, 2), (100 * norms).astype(np.int16)):
        held = io.BytesIO()
        np.save(held, array)
        found.append(("d.npy", held.getvalue()))
    return found


def spoilt(data: bytes, rng: random.Random) -> bytes:
    """One to four places of the bytes changed, most of them near the beginning, where headers are."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(min(len(found), 100) + 1 if rng.random() < 0.6 else len(found) + 1)
        what = rng.random()
        if what < 0.4:
            found[at : at + rng.choice((0, 1, 3, 8))] = rng.choice(_PIECES)
        elif what < 0.6:
            found[at : at + 1] = bytes([rng.randrange(256)])
        elif what < 0.75:
            del found[at : at + rng.choice((1, 7, 60))]
        elif what < 0.9:
            found[at:at] = found[at : at + 30] * rng.choice((1, 3, 400))
        else:
            del found[at:]
    return bytes(found)


def take(data: bytes, name: str) -> None:
    """What the pages do with an upload."""
    for column in columns(data, name)[:3]:
        sample = read_distances(data, name, column)
        distances = sample.distances()
        scale = max(float(distances.max()), 1e-300)
        for std in (1.0, scale):
            dpviz.bayesian_epsilon(
                distances[:500], noise_std=std, sample_rate=0.01, steps=10,
                delta_mu=1e-10,
            )  # fmt: skip


def attack(*, count: int, seed: int, seconds: float = WHOLE_SECONDS) -> Outcome:
    """`count` mutants, as many as fit into `seconds`."""
    rng, found, good = random.Random(seed), Outcome(), originals()
    began, before = time.monotonic(), resident()
    for _ in range(count):
        if time.monotonic() - began > seconds:
            break
        name, data = rng.choice(good)
        content, start = spoilt(data, rng), time.monotonic()
        try:
            with at_most(SECONDS), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                take(content, name)
            found.harmless += 1
        except ValueError as problem:
            if not 0 < len(str(problem)) < 2_000:
                found.broken["a message nobody reads"] += 1
            found.refused += 1
        except (Exception, TooLong) as error:
            found.broken[place(error)] += 1
            found.examples.setdefault(place(error), content)
        found.slowest = max(found.slowest, time.monotonic() - start)
        found.memory = max(found.memory, resident() - before)
    return found


def table(count: int = 3_900, seed: int = 1) -> str:
    """What came of it, as a Markdown section."""
    found = attack(count=count, seed=seed)
    return (
        "## Mutated uploads\n\n"
        "CSV and NPY files of gradient distances with one to four places changed, read as the pages read them and "
        "given to Bayesian accounting.\n\n" + rows(found, "read, and accounted for")
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=3_900)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    print(table(asked.count, asked.seed))

import torch

from dpviz.training.randomness import randomness

CPU = torch.device("cpu")


def drawn(found):
    return (
        found.start,
        found.batches.integers(2**60),
        int(torch.randint(2**60, (1,), generator=found.noise)),
        found.views.integers(2**60),
    )


def test_one_seed_for_all_and_each_its_own_stream():
    first, again, other = (drawn(randomness(seed, secure=False, device=CPU)) for seed in (3, 3, 4))
    assert first == again
    assert len(set(first)) == 4
    assert all(one != two for one, two in zip(first, other, strict=True))


def test_secret_randomness_comes_from_the_system(monkeypatch):
    asked = []

    def bits(count):
        asked.append(count)
        return 12345 + len(asked)

    monkeypatch.setattr("dpviz.training.randomness.secrets.randbits", bits)
    found = randomness(3, secure=True, device=CPU)
    assert found.views.integers(2**60) not in drawn(randomness(3, secure=False, device=CPU))
    assert asked == [256, 63]
    open_one = drawn(randomness(3, secure=False, device=CPU))
    secret = drawn(found)
    assert secret[0] == open_one[0]  # the start is public
    assert secret[1:] != open_one[1:]
    assert "not kept" in found.description
    assert "seed 3" in randomness(3, secure=False, device=CPU).description

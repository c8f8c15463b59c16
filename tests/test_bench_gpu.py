"""The script for a GPU runs: on a CPU, with small settings, so that it is no surprise when a GPU is there."""

import pytest
import torch

from benchmarks import gpu
from dpviz.training.engine.per_example import PerExample

BENCH = gpu.Bench(torch.device("cpu"), batches=(8,), rounds=1, steps=2)
QUICK = tuple(part for part in gpu.PARTS if part is not gpu.marked_tests)


def told(*parts, seconds=600.0):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpu, "PARTS", parts)
        return list(gpu.lines(BENCH, seconds))


def test_every_part_has_its_lines():
    found = told(*QUICK)
    text = "\n".join(found)
    assert "failed" not in text
    assert "NOT refused" not in text
    for name in gpu.NETWORKS:
        assert f"- {name}: norms differ by 0.0e+00" in text
        assert f"- {name}, batch 8: " in text
    assert text.count("upper ends of norms cover the CPU's norms: True") == len(gpu.NETWORKS)
    assert "auto means cpu: trained on CPU, All 2 planned steps are done." in text
    assert "mlp, batch 256: host reads a step: aten::_local_scalar_dense" in text
    assert "CPU, a dry run" in text


def test_a_difference_is_seen_and_a_part_that_fails_does_not_end_the_others(monkeypatch):
    clipped, calls = PerExample.clipped, []

    def another(engine, *args, **kwargs):
        found = clipped(engine, *args, **kwargs)
        calls.append(found)
        return found._replace(total=found.total * (1.0 + 1e-3 * (len(calls) % 3)), lengths=found.lengths * 0.5)

    monkeypatch.setattr(PerExample, "clipped", another)

    def broken(bench):
        """What breaks."""
        raise RuntimeError("no such kernel\nand more")
        yield

    text = "\n".join(told(broken, gpu.same_numbers))
    assert "- **failed**: RuntimeError: no such kernel" in text
    assert "cover the CPU's norms: False" in text
    assert "clipped sums by 1.0e-03 of their length" in text
    assert "twice the same digits: False" in text


def test_nothing_begins_after_its_time():
    text = "\n".join(told(*QUICK, seconds=-1.0))
    assert text.count("Not tried: the time was up.") == len(QUICK)
    assert "\n- " not in text


def test_without_a_gpu_it_says_so(monkeypatch):
    monkeypatch.setattr("sys.argv", ["gpu"])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match="No GPU is here"):
        gpu.main()

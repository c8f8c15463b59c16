"""Private steps on a GPU: the same numbers as on a CPU, their price, what makes the host wait, and what is refused.

make bench-gpu                             # needs a GPU; eight minutes at most; writes docs/work/gpu.md line by line
python -m benchmarks.gpu --device cpu      # the same on a CPU with small settings, printed alone: a dry run

Each part prints its lines as soon as it has them, and says why where it fails; no part begins once the time is up.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dpviz.training.accelerator import chosen_device
from dpviz.training.data.catalogue import load
from dpviz.training.engine.per_example import PerExample
from dpviz.training.engine.rounding import certified_bound
from dpviz.training.engine.vectors import shaped
from dpviz.training.loop import FreeRun, run
from dpviz.training.networks.by_name import prepared
from dpviz.training.networks.residual import Residual
from dpviz.training.session import Session
from dpviz.training.settings import RunSettings

PAGE = Path(__file__).resolve().parents[1] / "docs" / "work" / "gpu.md"
SECONDS, ROUNDS, BOUND = 480.0, 15, 0.5
READS = ("aten::_local_scalar_dense", "Memcpy DtoH")


class Attention(nn.Module):
    """Self-attention over the 28 rows of a picture (b, 1, 28, 28), then a linear layer on their mean."""

    def __init__(self) -> None:
        super().__init__()
        self.rows, self.mix, self.out = (
            nn.Linear(28, 64),
            nn.MultiheadAttention(64, 4, batch_first=True),
            nn.Linear(64, 10),
        )

    def forward(self, x: Tensor) -> Tensor:
        rows = self.rows(x.flatten(1, 2))
        y: Tensor = self.out((rows + self.mix(rows, rows, rows, need_weights=False)[0]).mean(1))
        return y


NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "MLP": lambda: nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.Tanh(), nn.Linear(128, 10)),
    "CNN": lambda: nn.Sequential(
        nn.Conv2d(1, 16, 8, 2, padding=2), nn.Tanh(), nn.MaxPool2d(2, 1), nn.Conv2d(16, 32, 4, 2), nn.Tanh(),
        nn.MaxPool2d(2, 1), nn.Flatten(), nn.Linear(512, 32), nn.Tanh(), nn.Linear(32, 10),
    ),
    "residual net": lambda: nn.Sequential(
        Residual(1, 16, 2), Residual(16, 32, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)
    ),
    "attention": Attention,
}  # fmt: skip


@dataclass(frozen=True)
class Bench:
    """Where it runs and how much of it: batches, timed rounds, steps of the profiled run."""

    device: torch.device
    batches: tuple[int, ...] = (64, 256, 1024)
    rounds: int = ROUNDS
    steps: int = 20

    def network(self, name: str) -> nn.Module:
        torch.manual_seed(0)
        return NETWORKS[name]().to(self.device)

    def digits(self, count: int) -> tuple[Tensor, Tensor]:
        data = load("mnist-10k")
        return data.train_x[:count].to(self.device), data.train_y[:count].to(self.device)

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def same_numbers(bench: Bench) -> Iterator[str]:
    """Norms, clipped sums and upper ends on the device and on the CPU, and twice on the device."""
    for name in NETWORKS:
        x, y = bench.digits(64)
        engine, on_cpu = PerExample(bench.network(name)), PerExample(Bench(torch.device("cpu")).network(name))
        found, again = (engine.clipped(x, y, max_grad_norm=BOUND) for _ in range(2))
        wanted = on_cpu.clipped(x.cpu(), y.cpu(), max_grad_norm=BOUND)
        norms = (found.norms.cpu() / wanted.norms - 1.0).abs().max()
        sums = (found.total.cpu() - wanted.total).norm() / wanted.total.norm()
        lengths = found.lengths.cpu()
        covered = bool((lengths >= wanted.norms.double() * (1.0 - 1e-6)).all())
        bound = certified_bound(BOUND, torch.float32)
        released = float((lengths.clamp(max=bound) / bound).max())
        yield (
            f"{name}: norms differ by {float(norms):.1e}, clipped sums by {float(sums):.1e} of their length; "
            f"upper ends of norms cover the CPU's norms: {covered}; longest released ÷ C' {released:.6f}; "
            f"twice the same digits: {torch.equal(found.total, again.total)}"
        )


def refused(bench: Bench) -> Iterator[str]:
    """Matrix products in TF32 (on a CPU in bfloat16) are refused, and right again afterwards."""
    backends = torch.backends.cuda.matmul if bench.device.type == "cuda" else torch.backends.mkldnn.matmul
    before, lower = backends.fp32_precision, "tf32" if bench.device.type == "cuda" else "bf16"
    try:
        backends.fp32_precision = lower
        PerExample(bench.network("MLP")).clipped(*bench.digits(64), max_grad_norm=BOUND)
        yield f"products in {lower}: NOT refused"
    except ValueError as error:
        yield f"products in {lower}: refused ({str(error).split(':')[0]})"
    finally:
        backends.fp32_precision = before


def price(bench: Bench) -> Iterator[str]:
    """A private step ÷ a plain one, medians of interleaved rounds, and the most memory of each."""
    for name in NETWORKS:
        for batch in bench.batches:
            network, (x, y) = bench.network(name), bench.digits(batch)
            parameters, engine = list(network.parameters()), PerExample(network)

            def move(parts: tuple[Tensor, ...], rate: float, parameters: list[nn.Parameter] = parameters) -> None:
                with torch.no_grad():
                    torch._foreach_add_(parameters, parts, alpha=-rate)

            def plain() -> None:
                move(torch.autograd.grad(F.cross_entropy(network(x), y), parameters), 1e-6)  # noqa: B023

            def private() -> None:
                total = engine.clipped(x, y, max_grad_norm=BOUND).total  # noqa: B023
                noisy = total + torch.randn_like(total)
                move(shaped(noisy.to(parameters[0].dtype), engine.parameters), 1e-6 / batch)  # noqa: B023

            took = timed(bench, plain, private)
            yield (
                f"{name}, batch {batch}: {1000 * took[0]:.2f} ms plain, {1000 * took[1]:.2f} ms private, "
                f"{took[1] / took[0]:.2f} times as long{memory(bench, plain, private)}"
            )


def timed(bench: Bench, *steps: Callable[[], None]) -> list[float]:
    """Median seconds of each of these steps, taken in turn."""
    for step in steps * 3:
        step()
    seconds: list[list[float]] = [[] for _ in steps]
    for _ in range(bench.rounds):
        for step, own in zip(steps, seconds, strict=True):
            bench.wait()
            began = time.perf_counter()
            step()
            bench.wait()
            own.append(time.perf_counter() - began)
    return [statistics.median(own) for own in seconds]


def memory(bench: Bench, *steps: Callable[[], None]) -> str:
    if bench.device.type != "cuda":
        return ""
    peaks = []
    for step in steps:
        torch.cuda.reset_peak_memory_stats(bench.device)
        step()
        peaks.append(f"{torch.cuda.max_memory_allocated(bench.device) / 2**20:.0f}")
    return f"; {' and '.join(peaks)} MiB at most"


def host_reads(bench: Bench) -> Iterator[str]:
    """How often a step of a run makes the host wait for a number, by PyTorch's profiler."""
    for model in ("mlp", "cnn"):
        settings = RunSettings(
            model=model, batch_size=256, steps=10 * bench.steps, evaluation_every=0, histogram_every=0,
            device=bench.device.type,
        )  # fmt: skip
        session = Session(settings, prepared(model, load("mnist-10k")), lambda event: None)
        session.start()
        for _ in range(3):
            session.advance()
        with torch.profiler.profile() as seen:
            for _ in range(bench.steps):
                session.advance()
        counts = {one.key: one.count for one in seen.key_averages() if one.key.startswith(READS)}
        said = ", ".join(f"{name} {count / bench.steps:.2f}" for name, count in counts.items()) or "none"
        yield f"{model}, batch 256: host reads a step: {said}"


def out_of_memory(bench: Bench) -> Iterator[str]:
    """What a run says whose batch does not fit."""
    if bench.device.type != "cuda":
        yield "out of memory: tried on a GPU only"
        return
    told: list[str] = []
    settings = RunSettings(model="cnn", batch_size=8000, steps=2, device="cuda", evaluation_every=0, views=64)
    torch.cuda.set_per_process_memory_fraction(0.02)
    try:
        run(settings, lambda event: told.append(str(event.get("text", ""))), FreeRun())
        yield "out of memory: the batch fitted, nothing was learnt"
    except Exception as error:  # what is told is the measurement
        yield f"out of memory: “{told[-1] if told else error}”"
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
        torch.cuda.empty_cache()


def own_choice(bench: Bench) -> Iterator[str]:
    """Which device a run takes by itself, from end to end."""
    told: list[dict[str, object]] = []
    summary = run(RunSettings(model="mlp", steps=bench.steps, evaluation_every=0), told.append, FreeRun())
    named = next(event["device"] for event in told if event["kind"] == "started")
    conditions = " ".join(summary["claim"]["conditions"]) or "no condition"
    yield f"auto means {chosen_device('auto')}: trained on {named}, {summary['text']} Its claim: {conditions}"


def marked_tests(bench: Bench, left: float = 120.0) -> Iterator[str]:
    """The tests that need a GPU."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:benchmark", "-m", "gpu", "tests/training"]
    if bench.device.type != "cuda":
        command.append("--collect-only")
    done = subprocess.run(command, capture_output=True, text=True, timeout=max(left, 10.0), cwd=PAGE.parents[1])
    yield f"tests marked gpu: {(done.stdout.strip().splitlines() or ['no answer'])[-1]}"


PARTS: tuple[Callable[[Bench], Iterator[str]], ...] = (
    same_numbers, refused, own_choice, host_reads, price, out_of_memory, marked_tests,
)  # fmt: skip


def lines(bench: Bench, seconds: float = SECONDS) -> Iterator[str]:
    """The page, line by line; a part that fails says so, and one that would begin too late is named."""
    until = time.monotonic() + seconds
    card = torch.cuda.get_device_name(bench.device) if bench.device.type == "cuda" else "CPU, a dry run"
    yield "# Private steps on a GPU\n"
    yield f"{card}, PyTorch {torch.__version__}, {time.strftime('%Y-%m-%d')}; written by `make bench-gpu`."
    for part in PARTS:
        about = str(part.__doc__).splitlines()[0]
        if time.monotonic() > until:
            yield f"\n{about} **Not tried: the time was up.**\n"
            continue
        yield f"\n{about}\n"
        try:
            for line in part(bench):
                yield f"- {line}"
                if time.monotonic() > until:
                    yield "- **the time was up here**"
                    break
        except Exception as error:  # the other parts are still worth having
            yield f"- **failed**: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: a dry run, printed alone")
    asked = parser.parse_args()
    if asked.device == "cpu":
        bench = Bench(torch.device("cpu"), batches=(8,), rounds=1, steps=2)
        for line in lines(bench):
            print(line, flush=True)
        return
    if not torch.cuda.is_available():
        sys.exit("No GPU is here: python -m benchmarks.gpu --device cpu tries the script without one.")
    with PAGE.open("w", encoding="utf-8") as page:
        for line in lines(Bench(torch.device("cuda"))):
            print(line, flush=True)
            print(line, file=page, flush=True)


if __name__ == "__main__":
    main()

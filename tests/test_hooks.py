"""The hooks of docs/use/watching.md, run as they are written where their libraries are; a workflow has them all."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpviz
from dpviz.accounting.claims import Claim
from dpviz.mechanisms import FixedSize
from dpviz.runs.claims import claim_of_record
from dpviz.runs.store.records import RunRecord
from dpviz.runs.store.store import open_store

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "use" / "watching.md").read_text("utf-8")
DELTA, SIGMA, N = 1e-5, 1.1, 60_000
pytestmark = pytest.mark.filterwarnings("ignore")  # those of other libraries


def block(section: str) -> str:
    """The Python lines of a section."""
    return re.search(rf"^## {section}$.*?^```python\n(.*?)^```$", TEXT, re.M | re.S)[1]  # type: ignore[index]


def only(folder: Path) -> tuple[RunRecord, Claim]:
    """The run of a folder and its claim."""
    store = open_store(folder)
    (record,) = store.runs()
    return record, claim_of_record(record, store)


def press_stop(folder: Path) -> None:
    """What the button on the run's page does."""
    store = open_store(folder)
    (record,) = store.runs()
    store.set_desired(record.id, "stop")


def test_the_docs_name_the_versions_that_are_tried() -> None:
    pins = (ROOT / "tools" / "requirements-hooks.txt").read_text("utf-8")
    tried = TEXT.split("## What was tried")[1].lower().replace("\n", " ")
    for name, version in re.findall(r"^(\w+)[\w-]*==(\S+)$", pins, re.M):
        assert f"{name} {version}" in tried


# Lightning, with Opacus.


def fit(folder: Path, *, steps: int, accumulate: int = 1, poisson: bool = True, stop_after: int = 0) -> int:
    """Train a small network under the docs' callback; how often the optimizer moved its parameters."""
    lightning, torch, opacus = (pytest.importorskip(name) for name in ("lightning", "torch", "opacus"))
    names: dict[str, Any] = {"lightning": lightning}
    exec(block("Lightning"), names)
    data = torch.utils.data.TensorDataset(torch.randn(400, 5), torch.randint(0, 2, (400,)))
    network = torch.nn.Linear(5, 2)
    network, optimizer, loader = opacus.PrivacyEngine().make_private(
        module=network, optimizer=torch.optim.SGD(network.parameters(), lr=0.1), poisson_sampling=poisson,
        data_loader=torch.utils.data.DataLoader(data, batch_size=20), noise_multiplier=SIGMA, max_grad_norm=1.0,
    )  # fmt: skip
    moved = []
    optimizer.original_optimizer.register_step_post_hook(lambda *_: moved.append(1))

    class Module(lightning.LightningModule):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def training_step(self, batch: Any, number: int) -> Any:
            return torch.nn.functional.cross_entropy(self.network(batch[0]), batch[1])

        def configure_optimizers(self) -> Any:
            return optimizer

        def on_train_batch_end(self, *_: Any) -> None:
            if len(moved) == stop_after:
                press_stop(folder)

    terms: dict[str, Any] = {"sampler": "poisson", "adjacency": "add_remove", "steps": steps, "folder": folder}
    with dpviz.watch("Lightning", examples=400, delta=DELTA, **terms) as run:
        trainer = lightning.Trainer(
            max_steps=steps, callbacks=[names["Watch"](run, 0.05)], accelerator="cpu", logger=False,
            accumulate_grad_batches=accumulate, enable_checkpointing=False, enable_progress_bar=False,
        )  # fmt: skip
        try:
            trainer.fit(Module(), loader)
        finally:
            assert len(moved) == run.taken
    return len(moved)


def test_lightning_tells_every_step(tmp_path: Path) -> None:
    moved = fit(tmp_path, steps=30)
    record, claim = only(tmp_path)
    assert (moved, record.steps, record.state) == (30, 30, "done")
    assert claim.epsilon == dpviz.epsilon("pld", noise_multiplier=SIGMA, sample_rate=0.05, steps=30, delta=DELTA)


def test_stop_ends_lightning_before_another_step(tmp_path: Path) -> None:
    with pytest.raises(dpviz.RunStopped):
        fit(tmp_path, steps=100_000, stop_after=3)
    record, _ = only(tmp_path)
    assert record.state == "stopped"
    assert 3 <= record.steps < 100_000


def test_lightning_does_not_step_on_several_batches(tmp_path: Path) -> None:
    """Without Poisson batches Opacus itself lets them pass: 20 examples were told, 40 were used."""
    with pytest.raises(ValueError, match="accumulate_grad_batches=1"):
        fit(tmp_path, steps=30, accumulate=2, poisson=False)
    assert only(tmp_path)[0].steps == 0


# JAX, with Optax.


def updates(folder: Path, steps: int, *, planned: int | None, stop_after: int = 0) -> int:
    """Run the docs' loop on a linear model, batches of a fixed size; how many updates were made."""
    jax, optax = pytest.importorskip("jax"), pytest.importorskip("optax")
    x, y = np.random.default_rng(1).normal(size=(N, 5)), np.random.default_rng(2).normal(size=N)
    rule = optax.chain(
        optax.contrib.differentially_private_aggregate(l2_norm_clip=1.0, noise_multiplier=SIGMA, key=jax.random.key(3)),
        optax.sgd(0.1),
    )
    gradients = jax.vmap(jax.grad(lambda weights, x, y: (x @ weights - y) ** 2), (None, 0, 0))
    made = 0

    @jax.jit  # type: ignore[untyped-decorator]
    def jitted(params: Any, state: Any, batch: Any) -> Any:
        moves, state = rule.update(gradients(params, *batch), state)
        return optax.apply_updates(params, moves), state

    def update(params: Any, state: Any, batch: Any) -> Any:
        nonlocal made
        made += 1
        if made == stop_after:
            press_stop(folder)
        return jitted(params, state, batch)

    generator = np.random.default_rng(4)
    rows = (generator.choice(N, 256, replace=False) for _ in range(steps))
    batches = ((x[row], y[row]) for row in rows)
    start = np.zeros(5)
    terms: dict[str, Any] = {"sampler": "fixed", "adjacency": "replace_one", "steps": planned, "folder": folder}
    with dpviz.watch("JAX", examples=N, delta=DELTA, **terms) as run:
        names = {"run": run, "update": update, "params": start, "state": rule.init(start), "batches": batches}
        exec(block("JAX"), names)
    assert np.isfinite(names["params"]).all()
    assert not np.array_equal(names["params"], start)
    return made


def test_jax_tells_every_step(tmp_path: Path) -> None:
    made = updates(tmp_path, 20, planned=20)
    record, claim = only(tmp_path)
    assert (made, record.steps, record.state) == (20, 20, "done")
    assert claim.epsilon == dpviz.epsilon("pld", mechanism=FixedSize(SIGMA, N, 256), steps=20, delta=DELTA)


def test_stop_ends_the_jax_loop_before_another_step(tmp_path: Path) -> None:
    with pytest.raises(dpviz.RunStopped):
        updates(tmp_path, 10_000, planned=None, stop_after=4)
    record, _ = only(tmp_path)
    assert record.state == "stopped"
    assert 4 <= record.steps < 10_000


# Keras.


def keras_steps(
    folder: Path, epochs: int, *, together: int = 1, batch_end: Callable[[int], None] = lambda _: None
) -> int:
    """Fit a small model under the docs' callback, 16 batches an epoch; how many steps its optimizer counts."""
    keras = pytest.importorskip("keras")
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse", steps_per_execution=together)
    x, y = np.random.default_rng(1).normal(size=(512, 5)), np.random.default_rng(2).normal(size=512)
    ending = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: batch_end(batch))
    terms: dict[str, Any] = {"sampler": "poisson", "adjacency": "add_remove", "steps": 16 * epochs, "folder": folder}
    with dpviz.watch("Keras", examples=N, delta=DELTA, **terms) as run:
        names: dict[str, Any] = {"keras": keras, "run": run}
        exec(block("Keras"), names)
        try:
            model.fit(x, y, batch_size=32, epochs=epochs, verbose=0, callbacks=[names["Watch"](), ending])
        finally:
            assert run.taken == int(model.optimizer.iterations)
    return int(model.optimizer.iterations)


def test_keras_tells_every_step(tmp_path: Path) -> None:
    assert keras_steps(tmp_path, 2) == 32
    record, claim = only(tmp_path)
    assert (record.steps, record.state) == (32, "done")
    assert claim.epsilon == dpviz.epsilon("pld", noise_multiplier=SIGMA, sample_rate=256 / N, steps=32, delta=DELTA)


def test_stop_ends_keras_before_another_step(tmp_path: Path) -> None:
    with pytest.raises(dpviz.RunStopped):
        keras_steps(tmp_path, 5_000, batch_end=lambda batch: press_stop(tmp_path) if batch == 3 else None)
    assert only(tmp_path)[0].state == "stopped"


def test_keras_does_not_run_several_steps_in_one_execution(tmp_path: Path) -> None:
    """It calls the hook once for all of them."""
    with pytest.raises(ValueError, match="steps_per_execution=1"):
        keras_steps(tmp_path, 2, together=4)
    assert only(tmp_path)[0].steps == 0

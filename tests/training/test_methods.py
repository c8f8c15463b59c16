import numpy as np
import pytest
import torch
import torch.nn.functional as F

from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.accounting.methods import LIVE
from dpviz.mechanisms import SampledGaussian
from dpviz.training.accounts.claims import planned_claim
from dpviz.training.accounts.live import LiveAccounts
from dpviz.training.engine.per_example import Clipped, rounding_of_sums
from dpviz.training.engine.vectors import flatten_parameters
from dpviz.training.methods import METHODS
from dpviz.training.methods.dp_sgd import DpSgd
from dpviz.training.plan import learning_rate, mechanism_at, planned_events
from dpviz.training.sampling import Batch, Batches, Persons
from dpviz.training.settings import RunSettings
from tests.training.steps import (
    BOUND,
    EXAMPLES,
    EXPECTED,
    clipped_by_hand,
    clipped_rows,
    make,
    make_batch,
    make_examples,
    make_network,
    noise_by_hand,
    weights_of,
)  # fmt: skip

PRIVATE = [name for name, kind in METHODS.items() if kind.private]
# Those that train the network's own parameters, and no other network made of it.
POINTS = [name for name in PRIVATE if METHODS[name].partly]
# Those whose steps release what DP-SGD's do.
DESCENTS = [name for name, kind in METHODS.items() if issubclass(kind, DpSgd)]


def test_two_steps_of_dp_sgd_by_hand():
    method, state, network = make("dp_sgd", momentum=0.8, learning_rate_end=0.5)
    reference, momentum = make_network(), 0.0
    vector = flatten_parameters(reference)
    for step, noise in enumerate(noise_by_hand(2), start=1):
        batch = make_batch(seed=step)
        total = clipped_by_hand(reference, batch)
        momentum = 0.8 * momentum + (total + 1.3 * BOUND * noise) / EXPECTED
        vector -= learning_rate(method.settings, step) / BOUND * momentum  # the rate is in units of C
        state, info = method.step(state, batch)
        assert (info.mechanism.noise_multiplier, info.mechanism.sample_rate) == (1.3, EXPECTED / EXAMPLES)
        assert (info.batch_size, info.expected, state.step) == (24, 20.0, step)
        torch.testing.assert_close(weights_of(network), vector, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("changed", [{}, {"optimiser": "adam"}, {"method": "dp_adam"}])
def test_steps_are_the_same_at_every_clip_that_all_gradients_exceed(changed):
    ends = []
    for clip in (1e-3, 1e-6):
        method, state, network = make(changed.get("method", "dp_sgd"), **changed | {"max_grad_norm": clip})
        for step in range(3):
            state, info = method.step(state, make_batch(seed=step))
            assert float(info.norms.min()) > clip
        ends.append(weights_of(network) - weights_of(make_network()))
    torch.testing.assert_close(*ends, atol=1e-6, rtol=1e-3)
    assert float(ends[0].norm()) > 0.01


def test_a_stored_run_that_does_not_say_its_rate_s_unit_takes_steps_of_the_same_length():
    """Its rate multiplied the mean itself where gradients are clipped before they are followed, and nowhere else."""
    values = {"learning_rate": 12.0, "max_grad_norm": 0.1}
    for changed, rate in (
        ({}, 1.2), ({"method": "dpvi"}, 1.2), ({"optimiser": "adam"}, 12.0), ({"method": "dp_adam"}, 12.0),
        ({"method": "sgd"}, 12.0), ({"method": "dp_sgld"}, 12.0),
    ):  # fmt: skip
        stored = RunSettings(**values | changed).to_json()
        assert RunSettings.from_json(stored).learning_rate == 12.0
        del stored["rate_unit"]
        assert RunSettings.from_json(stored).learning_rate == rate
    with pytest.raises(ValueError, match="Expected rate_unit='N' to be 'C'"):
        RunSettings.from_json({"rate_unit": "N"})


@pytest.mark.parametrize(
    ("name", "changed", "heat"),
    [
        ("dp_sgld", {}, 2.0),
        ("dp_sgld", {"langevin_noise": "algorithm1"}, 1.0),
        ("dp_sghmc", {}, 0.4),
        ("dp_sgnht", {}, 0.4),
    ],
)
def test_two_langevin_steps_by_hand(name, changed, heat):
    """`heat`: the variance of a step's noise in units of η/N."""
    prior, friction = 0.7, 0.2
    changed = {"prior_std": prior, "friction": friction, "step_exponent": 1 / 3, "learning_rate": 0.2} | changed
    method, state, network = make(name, **changed)
    reference, momentum = make_network(), 0.0
    vector, rate = flatten_parameters(reference), friction  # the thermostat's friction; SGHMC keeps the first
    for step, noise in enumerate(noise_by_hand(2), start=1):
        batch, size = make_batch(seed=step), 0.2 * step ** (-1 / 3)
        drift = size * (vector / prior**2 / EXAMPLES + clipped_by_hand(reference, batch) / EXPECTED)
        if name == "dp_sgld":
            vector += -drift + (heat * size / EXAMPLES) ** 0.5 * noise
        else:
            momentum = (1 - rate) * momentum - drift + (heat * size / EXAMPLES) ** 0.5 * noise
            vector += momentum
            rate += (momentum**2).mean() - size / EXAMPLES if name == "dp_sgnht" else 0.0
        state, info = method.step(state, batch)
        expected = EXPECTED * (heat / (size * EXAMPLES)) ** 0.5 / BOUND
        assert info.mechanism.noise_multiplier == pytest.approx(expected, rel=1e-12)
        torch.testing.assert_close(weights_of(network), vector, atol=1e-6, rtol=1e-5)


class Mean:
    """An engine of the mean of normal data: gradients θ − x_i of −ln N(x_i; θ, I), none clipped."""

    def clipped(self, x, y, *, max_grad_norm, pairs=None, real=None):
        total = len(x) * self.parameters - x.sum(0)
        norms = x.new_zeros(len(x))
        return Clipped(total, norms, norms.double(), norms, None, max_grad_norm)


@pytest.mark.parametrize(
    ("name", "changed", "share"),
    [
        ("dp_sgld", {}, 1.03),
        ("dp_sgld", {"langevin_noise": "algorithm1"}, 0.51),
        ("dp_sghmc", {"friction": 1.0}, 1.03),
    ],
)
def test_the_chain_has_the_posterior_s_variance_with_twice_the_printed_noise(name, changed, share):
    """The posterior is N(mean, I/N); a step η = 0.05 leaves 1/(1 − η/2) = 1.026 of its variance, or half of that."""
    draw = torch.Generator().manual_seed(3)
    x = torch.randn(EXAMPLES, 20_000, generator=draw)
    settings = RunSettings(
        method=name, learning_rate=0.05, step_exponent=0.0, batch_size=EXAMPLES, max_grad_norm=1e9, steps=150, **changed
    )
    engine = Mean()
    method = METHODS[name](engine, settings, examples=EXAMPLES, noise=draw)
    engine.parameters = torch.zeros(20_000)
    state = method.init(engine.parameters)
    batch = Batch(x, torch.zeros(EXAMPLES), EXAMPLES, float(EXAMPLES), SampledGaussian(1.0, 1.0))
    for _ in range(150):
        state, _ = method.step(state, batch)
    assert float((state.parameters - x.mean(0)).var()) * EXAMPLES == pytest.approx(share, rel=0.03)


def test_a_run_that_does_not_say_its_noise_added_that_of_algorithm_1():
    """It was made before there was a choice; what it cost must not change."""
    stored = RunSettings(method="dp_sgld", learning_rate=0.1).to_json()
    assert stored.pop("langevin_noise") == "sgld"
    earlier = RunSettings.from_json(stored)
    assert earlier.langevin_noise == "algorithm1"
    now, then = (
        mechanism_at(one, 1, 60_000).noise_multiplier
        for one in (RunSettings(method="dp_sgld", learning_rate=0.1), earlier)
    )
    assert now == pytest.approx(2**0.5 * then)


@pytest.mark.parametrize(
    ("optimiser", "make_reference"),
    [("sgd", lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9)), ("adam", lambda p: torch.optim.Adam(p, lr=0.05))],
)
def test_plain_training_is_pytorch_s_own(optimiser, make_reference):
    method, state, network = make("sgd", optimiser=optimiser, learning_rate_end=1.0)
    reference = make_network()
    optimise = make_reference(reference.parameters())
    for step in range(5):
        batch = make_batch(seed=step)
        state, info = method.step(state, batch)
        optimise.zero_grad()
        (F.cross_entropy(reference(batch.x), batch.y, reduction="sum") / EXPECTED).backward()
        optimise.step()
        assert info.mechanism is None
    torch.testing.assert_close(weights_of(network), weights_of(reference).detach(), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", METHODS)
def test_an_empty_batch_is_a_real_step(name):
    """It moves what a batch moves whose only example counts as nothing: by the noise of its seed, if it is private."""
    kind, batch = METHODS[name], make_batch(size=1)
    empty = batch._replace(x=batch.x[:0], y=batch.y[:0], size=0)
    nothing = batch._replace(x=torch.full_like(batch.x, torch.nan)) if kind.private else empty
    moved = []
    for given, seed in ((empty, 9), (nothing, 9), (empty, 8)):
        method, state, _ = make(name, seed=seed)
        before = state.parameters.clone()
        method.watch = True
        state, info = method.step(state, given)
        assert (state.step, info.batch_size, info.losses.numel()) == (1, given.size, given.size)
        assert info.mechanism == kind.mechanism(method.settings, 1, EXAMPLES)
        moved.append(state.parameters - before)
        if kind.private:
            assert float(info.signal) == 0.0
            assert float(info.noise) / (info.mechanism.noise_multiplier * BOUND) == pytest.approx(
                before.numel() ** 0.5, rel=0.4
            )
    torch.testing.assert_close(moved[0], moved[1])
    assert torch.equal(moved[0], moved[2]) != kind.private


@pytest.mark.parametrize("name", DESCENTS)
def test_what_descends_by_dp_sgd_s_gradient_costs_what_dp_sgd_costs(name):
    known = {"learning_rate": 0.01, "prior_std": 1.0, "bayesian": True}
    settings, sgd = (RunSettings(method=method, **known) for method in (name, DpSgd.key))
    assert planned_events(settings, 10_000) == planned_events(sgd, 10_000)
    assert planned_claim(settings, 10_000) == planned_claim(sgd, 10_000)
    readings = []
    for one in (settings, sgd):
        accounts = LiveAccounts(one, examples=10_000)
        accounts.step(mechanism_at(one, 7, 10_000), np.full(64, 0.05))
        readings.append(accounts.epsilons())
    assert readings[0] == readings[1]
    assert set(readings[0]) == {each.name for each in LIVE} | {bayesian.NAME}


@pytest.mark.parametrize("name", PRIVATE)
def test_an_example_that_is_not_a_number_counts_as_nothing(name):
    batch = make_batch()
    x = batch.x.clone()
    x[3, 2] = float("nan")
    x[7, 0] = float("inf")
    good = torch.ones(24, dtype=torch.bool)
    good[[3, 7]] = False
    method, state, network = make(name)
    state, info = method.step(state, batch._replace(x=x))
    other, other_state, reference = make(name)
    other.step(other_state, batch._replace(x=batch.x[good], y=batch.y[good], size=22))
    torch.testing.assert_close(weights_of(network), weights_of(reference))
    assert int((~torch.isfinite(info.norms)).sum()) == 2


@pytest.mark.parametrize("bound", [BOUND, 100.0])
@pytest.mark.parametrize("kind", ["norms", "pairs"])
def test_what_bayesian_accounting_hears_of_an_example_is_all_that_it_changes(kind, bound):
    """Lengths, or distances of pairs, of clipped gradients, with what rounding may add to sums; never above C."""
    method, state, network = make("dp_sgd", max_grad_norm=bound, bayesian=True, bayesian_distances=kind, pairs=5)
    batch = make_batch()
    x = batch.x.clone()
    x[2] *= 100.0
    if kind == "norms":
        x[1] = float("nan")
    batch = batch._replace(x=x)
    rows = clipped_rows(network, batch, bound)[:10]
    by_hand = rows.norm(dim=1) if kind == "norms" else (rows[::2] - rows[1::2]).norm(dim=1)
    exact = torch.nan_to_num(by_hand).double()
    state, info = method.step(state, batch)
    added, most = rounding_of_sums(bound, torch.float32), bound if kind == "norms" else 2.0 * bound
    wanted = torch.where(torch.isfinite(by_hand), exact + added, 0.0).clamp(max=most)
    assert (info.distances >= exact).all()
    torch.testing.assert_close(info.distances, wanted, rtol=1e-4, atol=1e-4 * bound)
    assert float(info.distances.max()) <= most * (1 + 1e-12)
    for size, told in ((7, 7 if kind == "norms" else 3), (3, 3 if kind == "norms" else 1), (0, None)):
        distances = method.step(state, make_batch(size=size))[1].distances
        assert (None if distances is None else len(distances)) == told


@pytest.mark.parametrize("name", POINTS)
def test_watching_tells_how_much_noise_came(name):
    method, state, network = make(name)
    batch = make_batch()
    total = clipped_by_hand(network, batch)
    method.watch = True
    state, info = method.step(state, batch)
    assert float(info.signal) == pytest.approx(float(total.norm()), rel=1e-4)
    noise = float(noise_by_hand(1)[0].norm()) * info.mechanism.noise_multiplier * BOUND
    assert float(info.noise) == pytest.approx(noise, rel=1e-4)
    method.watch = False
    assert method.step(state, batch)[1].noise is None


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("name", "persons"), [*((name, None) for name in METHODS), ("dp_sgd", Persons(np.arange(EXAMPLES) % 200))]
)
def test_a_gpu_takes_the_same_steps_and_never_waits_inside_one(name, persons):
    x, y = make_examples()
    ends = []
    # No noise to speak of, for the two devices draw different numbers; what is left of it two seeds show.
    for device, seed in (("cpu", 9), ("cpu", 8), ("cuda", 9)):
        method, state, _ = make(
            name, seed=seed, device=device, noise_multiplier=1e-9, learning_rate=1e-3, friction=1e-9,
            bayesian=METHODS[name].private and persons is None,
        )  # fmt: skip
        batches = Batches(x.to(device), y.to(device), np.random.default_rng(8), persons=persons)
        for step in range(4):
            if device == "cuda" and step > 1:
                torch.cuda.set_sync_debug_mode("error")
            try:
                state, _ = method.step(state, batches.draw(EXPECTED))
            finally:
                if device == "cuda":
                    torch.cuda.set_sync_debug_mode("default")
        ends.append(state.parameters.cpu().clone())
    spread = float((ends[0] - ends[1]).abs().max())
    torch.testing.assert_close(ends[0], ends[2], atol=1e-4 + 2.0 * spread, rtol=1e-3)

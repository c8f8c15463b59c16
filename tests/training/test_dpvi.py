"""Variational inference by private steps: its gradients by numerical differentiation, its bound and its predictions."""

import json

import torch
import torch.nn.functional as F
from torch import nn

from dpviz.training.engine.per_example import PerExample
from dpviz.training.leakage import leakage_of_run
from dpviz.training.loop import FreeRun, run
from dpviz.training.methods.dpvi import PREDICTIONS
from dpviz.training.sampling import loss_per_example
from dpviz.training.weights import stored_parameters
from tests.training.small import ABALONE
from tests.training.steps import BOUND, EXAMPLES, EXPECTED, make, make_batch

RUN = ABALONE.with_(method="dpvi", prior_std=1.0, batch_size=64, steps=6, learning_rate=0.1, evaluation_every=3)


def test_a_step_follows_the_gradient_of_the_elbo():
    """−ELBO/N written out and differentiated numerically, against what a step with no noise to speak of moves."""
    network, batch, tau = nn.Linear(6, 3).double(), make_batch(), 0.7
    batch = batch._replace(x=batch.x.double())
    method, state, variational = make(
        "dpvi", network, prior_std=tau, max_grad_norm=1e6, noise_multiplier=1e-15, momentum=0.0, learning_rate_end=1.0
    )
    start = state.parameters.clone()
    eta = torch.empty_like(start[: start.numel() // 2]).normal_(generator=torch.Generator().manual_seed(9))

    def elbo(parameters):
        mean, log_std = parameters.chunk(2)
        state.parameters.copy_(parameters)
        variational.draw.copy_(eta)
        with torch.no_grad():
            fit = F.cross_entropy(variational(batch.x), batch.y, reduction="sum") / EXPECTED
        state.parameters.copy_(start)
        variational.draw.zero_()
        posterior = torch.distributions.Normal(mean, log_std.exp())
        prior = torch.distributions.Normal(torch.zeros_like(mean), tau)
        return float(fit + torch.distributions.kl_divergence(posterior, prior).sum() / EXAMPLES)

    by_hand = []
    for at in range(start.numel()):
        shift = torch.zeros_like(start)
        shift[at] = 1e-5
        by_hand.append((elbo(start + shift) - elbo(start - shift)) / 2e-5)
    method.step(state, batch)
    torch.testing.assert_close(
        (start - state.parameters) / (0.05 / 1e6), torch.tensor(by_hand).double(), atol=1e-8, rtol=1e-6
    )


def test_one_example_changes_the_sum_over_both_halves_by_at_most_the_bound():
    _, _, variational = make("dpvi")
    variational.draw.normal_(generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        variational.log_std.fill_(1.0)  # the half of the spreads is as long as that of the means
    batch = make_batch(size=20)
    batch = batch._replace(x=5.0 * batch.x)
    engine = PerExample(variational, loss_per_example, chunk_size=8)
    whole = engine.clipped(batch.x, batch.y, max_grad_norm=BOUND).total.clone()
    apart = []
    for left_out in range(20):
        kept = torch.arange(20) != left_out
        apart.append(whole - engine.clipped(batch.x[kept], batch.y[kept], max_grad_norm=BOUND).total)
    lengths = torch.stack(apart).norm(dim=1)
    assert float(lengths.max()) <= BOUND
    assert float(lengths.max()) > 0.99 * BOUND
    assert min(float(half.norm(dim=1).max()) for half in torch.stack(apart).chunk(2, dim=1)) > 0.3 * BOUND


def test_a_run_predicts_by_draws_and_leaves_its_mean_behind(tmp_path):
    events = []
    summary = run(RUN.with_(bayesian=True, pairs=8), lambda event: events.append(json.loads(json.dumps(event))),
                  FreeRun(), weights_to=tmp_path / "run.pt")  # fmt: skip
    evaluations = [event for event in events if event["kind"] == "evaluation"]
    assert [event["samples"] for event in evaluations] == [PREDICTIONS] * 3
    assert summary["posterior_accuracy"] == evaluations[-1]["posterior_accuracy"] is not None
    assert {"moments", "tight", "bayesian"} <= set(summary["epsilon"])
    found = stored_parameters(summary["weights"])
    assert found["parameters"].shape == found["log_std"].shape == (22,)
    assert leakage_of_run(RUN, weights=summary["weights"], examples=40)
    # The mean is where another run may start, whatever its method.
    for method in ("dpvi", "dp_sgd"):
        events.clear()
        run(RUN.with_(method=method, start_from=summary["weights"], steps=1), events.append, FreeRun())
        assert events[1]["test_accuracy"] == summary["test_accuracy"]

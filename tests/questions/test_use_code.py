"""The code trains with exactly the plan's numbers: what installs here is run, of the others names and numbers are held
against what their releases have."""

import ast
import warnings

import dp_accounting
import pytest
import torch
from dp_accounting.rdp import RdpAccountant
from torch import nn
from torch.utils.data import TensorDataset

import dpviz
from dpviz.questions.use import RELEASES, Plan, snippets
from tests.questions.asking import table

PLAN = Plan(4.126, 0.05, 40, 1e-5, "renyi_improved", "exact")
EXACT = [PLAN, Plan(0.9, 256 / 60000, 12_345, 1e-7, "renyi_improved", "exact")]
CALLS = table("calls")


def made(name, plan=PLAN):
    """What a snippet defines."""
    space = {}
    exec(compile(snippets(plan)[name], name, "exec"), space)
    return space


def constants(source):
    return {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign)
    }


def calls(source):
    """Dotted name of what is called → keywords."""
    called = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return {ast.unparse(node.func): sorted(keyword.arg for keyword in node.keywords) for node in called}


@pytest.fixture
def data():
    torch.manual_seed(1)
    return torch.randn(200, 3), torch.randint(0, 2, (200,))


@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize("plan", EXACT, ids=["short", "long"])
def test_the_numbers_are_the_plans_to_the_last_digit_and_each_is_used(name, plan):
    source = snippets(plan)[name]
    assert constants(source) == {
        "NOISE_MULTIPLIER": plan.noise_multiplier,
        "SAMPLE_RATE": plan.sample_rate,
        "STEPS": plan.steps,
        "MAX_GRAD_NORM": 1.0,
        "DELTA": plan.delta,
    }
    names = [node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)]
    assert all(names.count(number) > 1 for number in constants(source))


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_those_that_the_library_has(name):
    own = (name, "batch_selection", "noise_addition")
    found = {call: keys for call, keys in calls(snippets(PLAN)[name]).items() if call.partition(".")[0] in own}
    assert found == CALLS[name]


@pytest.mark.filterwarnings("ignore")
def test_opacus_trains_with_exactly_this(data):
    network, epsilon = made("opacus")["train"](nn.Linear(3, 2), TensorDataset(*data))
    assert all(parameter.isfinite().all() for parameter in network.parameters())
    assert epsilon == pytest.approx(PLAN.epsilon, rel=0.01)


@pytest.mark.filterwarnings("ignore")
def test_the_noise_of_opacus_is_the_plans(data):
    """Examples that have no gradient: what the weights become is noise alone, σC√T ÷ qN."""
    network = nn.Linear(3, 3000, bias=False)
    before = network.weight.detach().clone()
    still = TensorDataset(torch.zeros(200, 3), data[1])
    trained, _ = made("opacus")["train"](network, still, learning_rate=1.0)
    moved = (trained._module.weight - before).std().item()
    assert moved == pytest.approx(PLAN.noise_multiplier * PLAN.steps**0.5 / (PLAN.sample_rate * 200), rel=0.05)


def test_opacus_refuses_what_mixes_examples(data):
    from opacus.validators.errors import UnsupportedModuleError

    with pytest.raises(UnsupportedModuleError), warnings.catch_warnings():
        made("opacus")["train"](nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 2)), TensorDataset(*data))


def test_dpviz_trains_with_exactly_this(data):
    claim = made("dpviz")["train"](nn.Linear(3, 2), data)
    known = {"noise_multiplier": 4.126, "sample_rate": 0.05, "steps": 40, "delta": 1e-5}
    assert claim.epsilon == dpviz.epsilon("tight", **known) <= PLAN.epsilon
    assert (claim.delta, claim.steps) == (1e-5, 40)


@pytest.mark.parametrize("plan", EXACT, ids=["short", "long"])
@pytest.mark.parametrize("name", ["jax_privacy", "tensorflow_privacy"])
def test_dp_accounting_agrees_with_what_is_said(name, plan):
    """The snippet's own `epsilon`, which is all of it that needs neither JAX nor TensorFlow."""
    tree = ast.parse(snippets(plan)[name])
    tree.body = [node for node in tree.body if isinstance(node, ast.Assign) or getattr(node, "name", "") == "epsilon"]
    space = {"dp_accounting": dp_accounting}
    exec(compile(tree, name, "exec"), space)
    assert RdpAccountant is dp_accounting.rdp.RdpAccountant
    assert space["epsilon"]() == pytest.approx(plan.epsilon, rel=0.01)

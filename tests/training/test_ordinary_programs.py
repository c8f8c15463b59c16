"""What people's programs have: taken as it is meant and said so, or refused in our words."""

import copy
import math
import pickle
import warnings
from collections import OrderedDict
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader

from dpviz.training import PrivateTraining
from tests.training.steps import OWN, own_data, own_training, weights_of

ROWS, TARGETS = own_data()
ODD = (TARGETS == 1).float()


def network(outputs=3, seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, outputs))


def trained(model, targets=TARGETS, rows=ROWS, steps=3, **changed):
    """Its weights after some replayed steps."""
    made = PrivateTraining(
        model, (rows, targets), torch.optim.SGD(model.parameters(), lr=0.1), batch_size=30, noise_multiplier=1.5,
        steps=steps, seed=4, **changed,
    )  # fmt: skip
    list(made)
    return weights_of(model)


class Returns(nn.Module):
    """A network that returns something else than one tensor."""

    def __init__(self, wrap, outputs=3):
        super().__init__()
        self.body, self.wrap = network(outputs), wrap

    def forward(self, x):
        return self.wrap(self.body(x))


# --- what is not learnt -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("targets", [ODD[:, None], ODD, (TARGETS == 1).long()])
@pytest.mark.parametrize("loss", [{}, {"loss": nn.CrossEntropyLoss(reduction="none")}, {"loss": nn.CrossEntropyLoss()}])
def test_cross_entropy_needs_two_classes(targets, loss):
    """Over one class it is 0 whatever the network does, and ε is charged for nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="two or more classes, found outputs of shape"):
            own_training((ROWS, targets), network(1), **loss)


def test_a_run_without_gradients_says_so_after_ten_steps():
    dead = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))
    with torch.no_grad():
        dead[0].bias.fill_(-1e4)
        dead[2].bias.requires_grad_(False)
    dead[2].bias.requires_grad_(False)
    training = own_training(None, dead, steps=12)
    for _ in range(9):
        next(training)
    with pytest.warns(UserWarning, match="first 10 steps no example had a finite gradient"):
        next(training)
    list(training)  # said once


def test_a_run_that_learns_says_nothing_of_its_gradients():
    list(own_training(steps=12))  # a warning would be an error here


# --- networks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrap", "changed"),
    [
        (lambda out: SimpleNamespace(logits=out, hidden=out), {}),
        (lambda out: {"logits": out, "loss": None}, {}),
        (lambda out: OrderedDict(logits=out), {}),
        (lambda out: (out, out.sum()), {"output": lambda returned: returned[0]}),
        (lambda out: {"scores": out}, {"output": lambda returned: returned["scores"]}),
    ],
)
def test_what_a_network_returns_is_taken_for_its_logits(wrap, changed):
    torch.testing.assert_close(trained(Returns(wrap), **changed), trained(network()))


@pytest.mark.parametrize("wrap", [lambda out: (out, out), lambda out: {"scores": out}, lambda out: [out]])
def test_what_holds_no_logits_is_refused_with_the_way_out(wrap):
    with pytest.raises(ValueError, match=r"found (tuple|dict|list)\. Pass output="):
        own_training(None, Returns(wrap))
    with pytest.raises(ValueError, match="output= to give one tensor"):
        own_training(None, Returns(wrap), output=lambda returned: returned)


# --- losses -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_a_loss_with_its_usual_reduction_is_taken_for_each_example_and_said(reduction):
    wanted = trained(network())
    with pytest.warns(UserWarning, match=f"CrossEntropyLoss reduces .* \\(reduction='{reduction}'\\)"):
        found = trained(network(), loss=nn.CrossEntropyLoss(reduction=reduction))
    torch.testing.assert_close(found, wanted)
    with pytest.warns(UserWarning, match="cross_entropy reduces"):
        torch.testing.assert_close(trained(network(), loss=F.cross_entropy), wanted)


@pytest.mark.parametrize(
    ("loss", "by_hand", "targets"),
    [
        (nn.MSELoss(), lambda out, y: (out - y).square().mean(1), torch.randn(OWN, 3)),
        (nn.MSELoss(reduction="sum"), lambda out, y: (out - y).square().sum(1), torch.randn(OWN, 3)),
        (
            nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0]), label_smoothing=0.1),
            nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0]), label_smoothing=0.1, reduction="none"),
            TARGETS,
        ),
        (nn.CrossEntropyLoss(), nn.CrossEntropyLoss(reduction="none"), torch.softmax(torch.randn(OWN, 3), 1)),
    ],
)
def test_the_form_for_each_example_reduces_within_it_as_before(loss, by_hand, targets):
    with pytest.warns(UserWarning, match="its loss for each example is used"):
        found = trained(network(), targets, loss=loss)
    torch.testing.assert_close(found, trained(network(), targets, loss=by_hand))


def test_one_number_for_each_example_is_one_loss_in_whatever_shape():
    column = ODD[:, None]
    wanted = trained(
        network(1), column, loss=lambda out, y: F.binary_cross_entropy_with_logits(out, y, reduction="none")[:, 0]
    )
    for loss in (nn.BCEWithLogitsLoss(reduction="none"), lambda out, y: F.softplus(out) - out * y):
        torch.testing.assert_close(trained(network(1), column, loss=loss), wanted)
    with pytest.raises(ValueError, match=r"found losses of shape \('b', 3\): one for each of its outputs"):
        own_training((ROWS, torch.randn(OWN, 3)), network(3), loss=nn.MSELoss(reduction="none"))


@pytest.mark.parametrize(
    ("targets", "changed", "words"),
    [
        (ODD, {}, r"found targets in float32\. Call y\.long\(\)"),
        (TARGETS[:, None], {}, r"targets of shape \('b',\), found \('b', 1\)\. Call y\.squeeze"),
        (TARGETS + 1, {}, "classes from 0 to 2, because the network has 3 outputs; found another"),
        (TARGETS - 1, {"loss": nn.CrossEntropyLoss(reduction="none")}, "classes from 0 to 2"),
        (
            ODD,
            {"loss": nn.BCEWithLogitsLoss(reduction="none")},
            r"outputs of shape \('b', 3\) and targets of shape \('b',\)",
        ),
    ],
)
def test_targets_that_do_not_fit_are_refused_in_our_words_before_a_step(targets, changed, words):
    with pytest.raises(ValueError, match=words):
        own_training((ROWS, targets), network(), **changed)


def test_labels_that_are_read_row_by_row_are_refused_at_the_step_that_reads_them():
    pairs = [(x, int(y) + (row == 200)) for row, (x, y) in enumerate(zip(ROWS, TARGETS * 0 + 2, strict=True))]
    with pytest.raises(ValueError, match="classes from 0 to 2"):
        list(own_training(pairs, network(), batch_size=OWN))


def test_a_label_that_is_ignored_is_not_refused():
    with pytest.warns(UserWarning, match="reduces"):
        trained(network(), torch.where(TARGETS == 2, -100, TARGETS), loss=nn.CrossEntropyLoss())


def test_sparse_tables_and_second_derivatives_are_refused_in_our_words():
    table = nn.Sequential(nn.Embedding(9, 4, sparse=True), nn.Flatten(), nn.Linear(8, 3))
    with pytest.raises(ValueError, match=r"layer '0' \(Embedding\) with sparse=True"):
        own_training((torch.randint(0, 9, (OWN, 2)), TARGETS), table)

    def penalised(model, through):
        def loss(outputs, y):
            (slope,) = torch.autograd.grad(outputs.sum(), through(model), create_graph=True)
            return F.cross_entropy(outputs, y, reduction="none") + slope.square().sum()

        return loss

    for through in (lambda model: [model[0].weight], lambda model: [model[2].bias]):
        model = network()
        with pytest.raises(ValueError, match="found one that asks for gradients itself"):
            own_training(None, model, loss=penalised(model, through))


# --- data -------------------------------------------------------------------------------------------------------------


def test_numbers_of_another_precision_are_converted_as_those_of_numpy():
    wanted = trained(network())
    for rows, targets in ((ROWS.double(), TARGETS), (ROWS.double(), TARGETS.to(torch.uint8)), (ROWS, TARGETS.int())):
        torch.testing.assert_close(trained(network(), targets, rows), wanted)
    made = own_training([(x.double(), int(y)) for x, y in zip(ROWS, TARGETS, strict=True)], network(), steps=2)
    assert all(math.isfinite(step.loss) for step in made)


@pytest.mark.parametrize(
    "names",
    [
        [f"person {row // 2}" for row in range(OWN)],
        np.array([f"person {row // 2}" for row in range(OWN)], dtype=object),
        np.array([row // 2 for row in range(OWN)], dtype=object),
    ],
)
def test_persons_are_named_by_text_or_number_also_as_objects(names):
    made = own_training(persons=names)
    assert (made.examples, made.settings.unit) == (OWN // 2, "person")
    next(made)


@pytest.mark.parametrize("missing", [None, float("nan"), "", 3.5])
def test_a_row_without_a_person_is_refused(missing):
    names = np.array([f"person {row}" for row in range(OWN)], dtype=object)
    names[7] = missing
    with pytest.raises(ValueError, match="the person of every row, found a row with none"):
        own_training(persons=names)


# --- a training itself ------------------------------------------------------------------------------------------------


def test_a_training_says_where_it_is_and_cannot_be_copied():
    training = own_training(steps=3, delta=1e-4)
    assert repr(training).startswith("PrivateTraining(3 steps; ε ≤ ")
    next(training)
    assert repr(training).startswith("PrivateTraining(step 1 of 3; ε ≤ ")
    assert "at δ = 0.0001" in repr(training)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied"):
            copied(training)
    assert "replayed" in repr(own_training(seed=1))


# --- several inputs ---------------------------------------------------------------------------------------------------


class TwoParts(nn.Module):
    """Reads the rows in two parts."""

    def __init__(self):
        super().__init__()
        self.body = network()

    def forward(self, left, right, scale=None):
        return self.body(torch.cat((left, right), dim=1) if scale is None else torch.cat((left, right), 1) * scale)


LEFT, RIGHT = ROWS[:, :2], ROWS[:, 2:]
ONES = torch.ones(OWN, 1)
IN_PARTS = {
    "a tuple": lambda: ((LEFT, RIGHT), TARGETS),
    "a list of arrays": lambda: ([LEFT.double().numpy(), RIGHT.numpy()], TARGETS.numpy()),
    "a dictionary": lambda: ({"left": LEFT, "right": RIGHT}, TARGETS),
    "a dictionary with its target": lambda: {"right": RIGHT, "left": LEFT, "labels": TARGETS},
    "rows in parts": lambda: [((a, b), int(y)) for a, b, y in zip(LEFT, RIGHT, TARGETS, strict=True)],
    "rows that are dictionaries": lambda: [
        {"left": a, "scale": torch.ones(1), "right": b.double(), "label": int(y)}
        for a, b, y in zip(LEFT, RIGHT, TARGETS, strict=True)
    ],
    "a loader of them": lambda: DataLoader(IN_PARTS["rows that are dictionaries"](), batch_size=30),
}


@pytest.mark.parametrize("kind", IN_PARTS)
@pytest.mark.parametrize("persons", [None, [row // 3 for row in range(OWN)]])
def test_several_inputs_are_those_of_one_tensor_in_parts(kind, persons):
    ends = []
    for model, data in ((TwoParts(), IN_PARTS[kind]()), (network(), (ROWS, TARGETS))):
        made = PrivateTraining(
            model, data, torch.optim.SGD(model.parameters(), lr=0.1), batch_size=30, noise_multiplier=1.5, steps=4,
            seed=4, persons=persons,
        )  # fmt: skip
        list(made)
        ends.append(weights_of(model))
    torch.testing.assert_close(*ends)


def test_a_dictionary_with_one_input_is_that_input():
    data = [{"image": x, "label": int(y)} for x, y in zip(ROWS, TARGETS, strict=True)]
    model = network()
    list(own_training(data, model, seed=4, steps=3))
    torch.testing.assert_close(weights_of(model), trained(network()))


def test_a_training_on_the_same_parts_knows_the_one_before_it():
    rows = torch.randn(OWN, 6)
    parts = (rows[:, :2], rows[:, 2:])
    first = own_training((parts, TARGETS), TwoParts(), steps=1)
    list(first)
    again = own_training(({"left": parts[0].clone(), "right": parts[1].clone()}, TARGETS.clone()), TwoParts(), steps=1)
    assert any("1 training before it" in condition for condition in again.planned.conditions)
    other = own_training(((parts[0] + 1.0, parts[1].clone()), TARGETS.clone()), TwoParts(), steps=1)
    assert not any("training before it" in condition for condition in other.planned.conditions)


@pytest.mark.parametrize(
    ("data", "changed", "words"),
    [
        (
            [{"a": torch.ones(2), "b": 1} for _ in range(OWN)],
            {},
            "one target under one of the names 'labels'.*found 'a', 'b'",
        ),
        ([{"y": 1, "label": 1, "a": torch.ones(2)} for _ in range(OWN)], {}, "one target under one of the names"),
        ([(torch.ones(2), torch.ones(2), 1) for _ in range(OWN)], {}, r"\(\(x1, x2\), y\).*Found 3 parts"),
        ([{"text": "a", "a": torch.ones(6), "label": 1} for _ in range(OWN)], {}, "all in numbers. Found list"),
        (((LEFT, RIGHT[:-1]), TARGETS), {}, "a target for each example, found shapes"),
        (((LEFT, RIGHT), TARGETS), {"views": 2}, "views=1 with several inputs"),
    ],
)
def test_rows_that_are_no_inputs_and_a_target_are_refused(data, changed, words):
    with pytest.raises(ValueError, match=words):
        own_training(data, TwoParts(), **changed)


# --- going back -------------------------------------------------------------------------------------------------------


def test_parameters_of_an_earlier_step_of_one_s_own_have_the_claim_of_all_steps():
    model = network()
    training = own_training(None, model, steps=6)
    kept = [copy.deepcopy(model.state_dict())]
    kept += [copy.deepcopy(model.state_dict()) for _ in training]
    whole = training.claim
    for state in kept:
        model.load_state_dict(state)
        assert training.claim == whole
    assert whole.holds
    assert whole.epsilon >= training.claim_after(3).epsilon > 0.0
    mixed = {name: kept[2 + (name == "2.bias")][name] for name in kept[2]}
    model.load_state_dict(mixed)
    assert not training.claim.holds
    model.load_state_dict(kept[3])
    with torch.no_grad():
        model[0].weight[0, 0] += 1e-3
    assert not training.claim.holds
    assert "after step 6 " in training.claim.reason


def test_a_training_does_not_go_on_from_an_earlier_step():
    """Its optimiser remembers the later ones."""
    model = network()
    training = own_training(None, model, steps=6)
    next(training)
    kept = copy.deepcopy(model.state_dict())
    next(training)
    model.load_state_dict(kept)
    assert training.claim.holds
    with pytest.raises(ValueError, match="found it changed since"):
        next(training)

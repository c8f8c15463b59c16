"""Trainings of one program on the same data add up; on other data, or where the program says so, they do not."""

import gc

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset

import dpviz
from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.mechanisms import SampledGaussian, merge_events
from dpviz.training.accounts.live import check_run
from dpviz.training.settings import RunSettings
from tests.training.steps import OWN, own_data, own_training

ONE = (SampledGaussian(1.5, 0.1), 20)  # the plan of `own_training`


def tight(*events):
    return float(tight_epsilon_of_events(merge_events(events), 1e-5).upper)


def conditions(training):
    return " ".join(training.planned.conditions)


def test_three_in_a_row_claim_what_they_cost_together():
    alone = None
    for number in range(3):
        training = own_training()
        planned = training.planned
        *_, last = training
        assert planned == training.planned
        assert last.claim.epsilon == training.planned.epsilon == tight((SampledGaussian(1.5, 0.1), 20 * (number + 1)))
        assert last.claim.steps == 20
        earlier = [condition for condition in last.claim.conditions if "on the same data" in condition]
        assert len(earlier) == (number > 0)
        assert any("did not use these data" in condition for condition in last.claim.conditions)
        alone = alone or last.claim.epsilon
    assert "this training and 2 trainings before it" in earlier[0]
    assert last.claim.epsilon > 1.5 * alone


def test_early_in_a_plan_the_odometer_begins_with_the_earlier_ones():
    list(own_training(steps=2))
    training = own_training(steps=2000)
    claim = next(training).claim
    assert claim.covers == "any_end"
    assert claim.epsilon == dpviz.epsilon("mixture", noise_multiplier=1.5, sample_rate=0.1, steps=3, delta=1e-5)


def test_only_what_took_a_step_counts_and_with_its_whole_plan():
    made, begun = own_training(), own_training(noise_multiplier=3.0, steps=50)
    both = tight(ONE, (SampledGaussian(3.0, 0.1), 50))
    assert own_training().settings.origins == ()
    next(begun)
    assert own_training().planned.epsilon == own_training().planned.epsilon == both
    assert made.settings.origins == begun.settings.origins == ()
    next(made)  # after `begun`
    assert made.planned.epsilon == both
    assert "1 training before it" in " ".join(made.claim.conditions)
    del made, begun
    gc.collect()
    assert "2 trainings before it" in conditions(own_training())


class Rows(Dataset):
    """Reads anew each time, as from a file."""

    def __init__(self, data, noise=0.0):
        self.x, self.y = data
        self.noise = noise

    def __len__(self):
        return len(self.x)

    def __getitem__(self, row):
        return self.x[row] + self.noise * torch.randn(6), int(self.y[row])


def sharing(x, y):
    augmented = Rows((x, y), noise=0.1)
    order = torch.randperm(OWN, generator=torch.Generator().manual_seed(4))
    whole = (x, y)
    return {
        "the same": (whole, whole),
        "a slice": (whole, (x[:50], y[:50])),
        "the rest of a slice": ((x[:50], y[:50]), (x[40:], y[40:])),
        "a copy": (whole, (x.clone(), y.clone())),
        "other labels": (whole, (x.clone(), 2 - y)),
        "another order": (whole, (x[order], y[order])),
        "double precision, NumPy": (whole, (x.double().numpy(), y.numpy())),
        "double precision": (whole, (x.double(), y)),
        "single precision of a double one": ((x.double() + 1e-9, y), whole),
        "half precision": (whole, (x.half(), y)),
        "half precision first": ((x.half(), y), whole),
        "bfloat16": (whole, (x.bfloat16(), y)),
        "whole numbers": ((x.round(), y), (x.round().to(torch.int8), y)),
        "a list": ([(row, int(of)) for row, of in zip(x, y, strict=True)], whole),
        "changed in place": (whole, None),
        "a data set": (whole, Rows(whole)),
        "a loader": (DataLoader(Rows(whole), batch_size=30), TensorDataset(*whole)),
        "a part": (Rows(whole), Subset(Rows(whole), range(100, 200))),
        "a part of one with chance": (augmented, Subset(augmented, range(100, 200))),
        "joined": (whole, ConcatDataset([Rows(own_data(2)), Rows(whole)])),
    }


@pytest.mark.parametrize("case", sharing(*own_data()))
@pytest.mark.one_of(2)
def test_the_same_examples_in_other_clothes(case):
    x, y = own_data()
    first, second = sharing(x, y)[case]
    list(own_training(first, Typed()))
    if second is None:
        x.mul_(2.0)
        second = (x, y)
    again = own_training(second, Typed())
    assert "1 training before it" in conditions(again)
    assert again.planned.epsilon > own_training(own_data(9)).planned.epsilon


class Typed(nn.Linear):
    """A network in double precision that reads numbers of any type."""

    def __init__(self):
        super().__init__(6, 3, dtype=torch.float64)

    def forward(self, x):
        return super().forward(x.double())


def test_a_double_network_on_a_double_copy_is_told_of_the_training_before():
    x, y = own_data()
    list(own_training((x, y)))
    again = own_training((x.double(), y), Typed())
    assert "1 training before it" in conditions(again)
    assert again.planned.epsilon == tight(ONE, ONE)


def test_coarse_numbers_of_other_people_are_not_taken_for_a_rounded_copy():
    """Two numbers a row: bfloat16 makes many rows of other people equal."""
    draw = torch.Generator().manual_seed(3)
    fine, coarse = (torch.rand(OWN, 2, generator=draw) * 60 for _ in range(2))
    list(own_training((fine, own_data()[1]), nn.Linear(2, 3)))
    assert own_training((coarse.round(), own_data()[1]), nn.Linear(2, 3)).settings.origins == ()


def test_a_copied_part_of_many_rows_from_a_file_is_known_by_what_was_drawn():
    """Of 200,000 rows 1,000 are read ahead, none of which is in the part."""
    draw = torch.Generator().manual_seed(3)
    x, y = torch.randn(200_000, 6, generator=draw), torch.zeros(200_000, dtype=torch.int64)
    read = np.linspace(0, 199_999, 1000).round()
    part = np.setdiff1d(np.arange(3000), read)[:1500]
    settings = {"batch_size": 60_000, "steps": 1, "delta": 1e-6}
    assert own_training(Rows((x[part].clone(), y[part])), batch_size=30).settings.origins == ()
    list(own_training(Rows((x, y)), **settings))
    again = own_training(Rows((x[part].clone(), y[part])), batch_size=30)
    assert "1 training before it" in conditions(again)


def test_other_data_costs_these_nothing_also_in_memory_that_is_used_again():
    x, y = own_data(1)
    list(own_training((x[:, :6].clone(), y.clone())))
    gc.collect()
    training = own_training(own_data(2))
    assert training.settings.origins == ()
    assert training.planned.epsilon == tight(ONE)


def test_whoever_says_that_nobody_is_in_both_has_it_in_the_claim():
    list(own_training())
    training = own_training(disjoint_data=True)
    assert training.planned.epsilon == tight(ONE)
    (disjoint,) = [condition for condition in training.planned.conditions if "nobody in these data" in condition]
    assert "1 training before it" in disjoint
    list(training)
    assert "2 trainings before it" in conditions(own_training())


def test_demonstrations_cost_nothing_but_must_stay_inside():
    list(own_training(seed=1))
    training = own_training()
    assert training.planned.epsilon == tight(ONE)
    assert "nothing of 1 demonstration before it on the same data is released" in conditions(training)
    list(training)
    after = own_training(seed=2).planned
    assert not after.holds
    assert after.shown.epsilon == tight((SampledGaussian(1.5, 0.1), 40))


def test_settings_with_earlier_trainings_can_be_written_and_read():
    list(own_training())
    list(own_training(seed=1))
    list(own_training(disjoint_data=True))
    settings = own_training().settings
    check_run(settings, OWN)
    assert len(settings.origins) == 2
    assert RunSettings.from_json(settings.to_json()) == settings


def test_a_hundred_different_plans_are_added_by_the_renyi_accountant():
    for number in range(70):
        next(own_training(noise_multiplier=3.0 + number / 100, steps=3))
    claim = own_training().planned
    assert (claim.accountant, claim.holds) == ("renyi", True)
    assert claim.epsilon > tight((SampledGaussian(3.7, 0.1), 210), ONE)

"""Rows that are given twice, and data that change between steps."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset

from dpviz.training.data.rows import repeats
from tests.training.steps import OWN, own_data, own_training

X, Y = own_data()
LISTED = [(row, int(of)) for row, of in zip(X, Y, strict=True)]


class Read(Dataset):
    """As from a file."""

    def __len__(self):
        return OWN

    def __getitem__(self, row):
        return X[row], int(Y[row])


READ, WHOLE = Read(), TensorDataset(X, Y)
ROWS = [*range(OWN), 7]  # one of them again
MANY = [0] * 100 + list(range(1, OWN))
TWICE = {
    "a part": (Subset(WHOLE, ROWS), 1),
    "a part, a hundred times": (Subset(READ, MANY), 99),
    "a part of a part": (Subset(Subset(READ, range(100)), [*range(50), 0]), 1),
    "indices of NumPy": (Subset(WHOLE, np.asarray(ROWS)), 1),
    "a chain": (ConcatDataset([WHOLE, WHOLE]), OWN),
    "a chain of files": (ConcatDataset([READ, Subset(READ, [3, 4])]), 2),
    "two data sets in the same memory": (ConcatDataset([WHOLE, TensorDataset(X[10:], Y[10:])]), OWN - 10),
    "a list": (LISTED + LISTED[:2], 2),
    "memory that is one row": ((X[:1].expand(OWN, 6), Y[:1].expand(OWN)), OWN - 1),
    "a loader": (DataLoader(Subset(READ, ROWS), batch_size=30), 1),
}


@pytest.mark.parametrize("case", TWICE)
def test_a_row_is_not_trained_on_as_two_persons(case):
    data, number = TWICE[case]
    with pytest.raises(ValueError, match=f"each row once, found {number:,} of .* that were given before.*persons="):
        own_training(data)


ONCE = {
    "all": WHOLE,
    "a part": Subset(READ, range(0, OWN, 2)),
    "two parts": ConcatDataset([Subset(WHOLE, range(100)), Subset(WHOLE, range(100, OWN))]),
    "equal numbers": (torch.ones(OWN, 6), torch.zeros(OWN, dtype=torch.int64)),
    "one input for all": (X[:1].expand(OWN, 6), Y),
    "list": LISTED,
}


@pytest.mark.parametrize("case", ONCE)
def test_rows_that_are_given_once_are_taken(case):
    next(own_training(ONCE[case]))


def test_repeats_of_one_person_are_rows_of_that_person():
    owners = np.arange(OWN) // 3
    training = own_training(Subset(WHOLE, MANY), persons=owners[MANY], batch_size=20)
    assert (training.examples, training.planned.unit) == (OWN // 3, "person")
    wrong = owners[MANY].copy()
    wrong[50] = 5
    with pytest.raises(ValueError, match="the same row at positions 0 and 50 with two"):
        own_training(Subset(WHOLE, MANY), persons=wrong, batch_size=20)


def test_repeats_are_found_where_they_stand():
    assert repeats(ConcatDataset([Subset(READ, [5, 6]), Subset(READ, [6, 7, 6])])).tolist() == [0, 1, 1, 3, 1]
    three = TensorDataset(X[:1].expand(3, 6), Y[:1].expand(3), torch.arange(3))
    assert repeats(three).tolist() == [0, 1, 2]
    assert repeats([]).tolist() == []


def own_rows():
    return X.clone(), Y.clone()


def _rolled(data):
    data[0].copy_(data[0].roll(1, 0))


def _rolled_by_numpy(data):
    array = data[0].numpy()
    array[:] = np.roll(array, 1, axis=0)


def _one_row(data):
    data[0][5] = data[0][6]


def _labels(data):
    data[1].zero_()


@pytest.mark.parametrize("change", [_rolled, _rolled_by_numpy, _one_row, _labels])
@pytest.mark.parametrize("sampler", ["poisson", "order"])
def test_rows_that_move_between_two_steps_are_not_trained_on(change, sampler):
    data = own_rows()
    training = own_training(data, sampler=sampler)
    next(training), next(training)
    change(data)
    for _ in range(2):
        with pytest.raises(ValueError, match="Expected the data as they were when this training was made"):
            next(training)


def _replaced(data):
    data.tensors = tuple(tensor.roll(1, 0) for tensor in data.tensors)


def _other_part(data):
    data.indices = list(range(1, OWN))


def _part_in_place(data):
    data.indices.append(0)


PARTS = {
    "tensors": (lambda: TensorDataset(*own_rows()), _replaced),
    "tensors below a part": (lambda: Subset(TensorDataset(*own_rows()), range(200)), lambda d: _replaced(d.dataset)),
    "the rows of a part": (lambda: Subset(READ, list(range(200))), _other_part),
    "the rows of a part, in place": (lambda: Subset(READ, list(range(200))), _part_in_place),
    "a link of a chain": (
        lambda: ConcatDataset([TensorDataset(*own_rows()), WHOLE]),
        lambda data: _replaced(data.datasets[0]),
    ),
    "a list": (lambda: list(LISTED), lambda data: data.reverse()),
}


@pytest.mark.parametrize("case", PARTS)
def test_parts_that_are_replaced_between_two_steps_are_not_trained_on(case):
    make, change = PARTS[case]
    data = make()
    training = own_training(DataLoader(data, batch_size=20), batch_size=20)
    next(training)
    change(data)
    with pytest.raises(ValueError, match="Expected the data as they were when this training was made"):
        next(training)


def test_persons_whose_rows_move_are_not_trained_on():
    data = own_rows()
    training = own_training(data, persons=np.arange(OWN) // 3, batch_size=20)
    next(training)
    _rolled_by_numpy(data)
    with pytest.raises(ValueError, match="Expected the data as they were"):
        next(training)


def test_data_that_read_other_numbers_each_time_are_taken():
    class Noisy(Read):
        def __getitem__(self, row):
            x, y = super().__getitem__(row)
            return x + torch.randn(6), y

    assert sum(1 for _ in own_training(Noisy(), nn.Linear(6, 3), steps=3)) == 3

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.accounting.adaptive.odometer import OdometerAccountant
from dpviz.accounting.ledger import Ledger
from dpviz.accounting.renyi.accountant import Moments, Renyi
from dpviz.mechanisms import SampledGaussian
from dpviz.training.accounts.live import Trajectory

ACCOUNTANTS = {
    "renyi": Renyi(order_values=(1.5, 2.0, 3.5, 8.0, 32.0)),
    "moments": Moments(),
    "odometer": OdometerAccountant(),
}
CHARGES = st.lists(
    st.tuples(st.sampled_from([0.8, 2.0, 2.5]), st.sampled_from([0.0, 0.1, 1.0])).map(lambda v: SampledGaussian(*v)),
    max_size=25,
)


@pytest.mark.parametrize("name", ACCOUNTANTS)
@given(charges=CHARGES, cuts=st.lists(st.integers(0, 25), max_size=4), delta=st.sampled_from([1e-5, 0.01]))
def test_readings_are_those_of_a_ledger_after_each_charge_however_often_one_looks(name, charges, cuts, delta):
    accountant = ACCOUNTANTS[name]
    ledger, wanted = Ledger(accountant), []
    for charge in charges:
        ledger.spend(charge)
        wanted.append(float(ledger.bound(delta).epsilon))
    trajectory, found = Trajectory(accountant, delta), []
    ends = [0, *sorted(min(cut, len(charges)) for cut in cuts), len(charges)]
    for start, end in zip(ends, ends[1:], strict=False):
        found.extend(trajectory.read(charges[start:end]).tolist())
    assert found == wanted


def test_noise_too_small_for_numbers_reads_as_infinite():
    charges = [SampledGaussian(1e-200, 1.0), SampledGaussian(1.0, 0.1)]
    assert np.isinf(Trajectory(Renyi(), 1e-5).read(charges)).all()

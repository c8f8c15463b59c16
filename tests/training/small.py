"""The shipped digits and the small networks that read them."""

from functools import partial

from dpviz.training.data import DATA_SETS
from dpviz.training.data.catalogue import load
from dpviz.training.networks.by_name import build

digits = partial(load, "mnist-10k")


def small(name, *, seed):
    """A network for the digits with weights from `seed`."""
    return build(name, DATA_SETS["mnist-10k"], seed=seed)

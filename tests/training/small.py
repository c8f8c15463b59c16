"""The shipped digits and the small networks that read them."""

from functools import partial

from dpviz.training.data.catalogue import load
from dpviz.training.data.mnist import MNIST_10K
from dpviz.training.networks.by_name import build

digits = partial(load, MNIST_10K.key)


def small(name, *, seed):
    """A network for the digits with weights from `seed`."""
    return build(name, MNIST_10K, seed=seed)

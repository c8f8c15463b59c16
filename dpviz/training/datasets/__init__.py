"""Data sets, in the order in which pages offer them. One more is one file here and one name in this list."""

from dpviz.training.datasets.abalone import ABALONE
from dpviz.training.datasets.adult import ADULT
from dpviz.training.datasets.base import DataSet
from dpviz.training.datasets.cifar10 import CIFAR10
from dpviz.training.datasets.fashion_mnist import FASHION_MNIST
from dpviz.training.datasets.mnist import MNIST, MNIST_10K
from dpviz.training.datasets.svhn import SVHN, SVHN_WHOLE

DATA_SETS: dict[str, DataSet] = {
    data.key: data for data in (MNIST_10K, MNIST, FASHION_MNIST, CIFAR10, SVHN, SVHN_WHOLE, ADULT, ABALONE)
}

__all__ = ["DATA_SETS", "DataSet"]

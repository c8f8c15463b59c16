"""Data sets, in the order in which pages offer them. One more is one file here and one name in this list."""

from dpviz.training.data.abalone import ABALONE
from dpviz.training.data.adult import ADULT
from dpviz.training.data.base import DataSet
from dpviz.training.data.cifar10 import CIFAR10
from dpviz.training.data.fashion_mnist import FASHION_MNIST
from dpviz.training.data.mnist import MNIST, MNIST_10K
from dpviz.training.data.svhn import SVHN, SVHN_WHOLE

DATA_SETS: dict[str, DataSet] = {
    data.key: data for data in (MNIST_10K, MNIST, FASHION_MNIST, CIFAR10, SVHN, SVHN_WHOLE, ADULT, ABALONE)
}

__all__ = ["DATA_SETS", "DataSet"]

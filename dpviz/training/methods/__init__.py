"""Ways to train, in the order in which pages offer them. One more is one file here and one name in this list."""

from dpviz.training.methods.base import Info, Method, State
from dpviz.training.methods.dp_adam import DpAdam
from dpviz.training.methods.dp_sgd import DpSgd
from dpviz.training.methods.dpvi import Dpvi
from dpviz.training.methods.langevin import DpSghmc, DpSgld
from dpviz.training.methods.plain import PlainSgd

METHODS: dict[str, type[Method]] = {kind.key: kind for kind in (DpSgd, DpAdam, DpSgld, DpSghmc, Dpvi, PlainSgd)}

__all__ = ["METHODS", "Info", "Method", "State"]

"""Ways to train, in the order in which pages offer them. One more is one file here and one name in this list."""

from dpviz.training.methods.base import Info, Method, State
from dpviz.training.methods.dp_adam import DpAdam
from dpviz.training.methods.dp_sgd import DpSgd
from dpviz.training.methods.dpvi import Dpvi
from dpviz.training.methods.langevin import DpSghmc, DpSgld, DpSgnht
from dpviz.training.methods.plain import PlainSgd

_OFFERED: tuple[type[Method], ...] = (DpSgd, DpAdam, DpSgld, DpSghmc, DpSgnht, Dpvi, PlainSgd)
METHODS: dict[str, type[Method]] = {kind.key: kind for kind in _OFFERED}

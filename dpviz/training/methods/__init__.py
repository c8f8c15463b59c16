"""Ways to train, by name: each `init(parameters) → state`, `step(state, batch) → (state, info)`."""

from dpviz.training.methods.base import Info, Method, State
from dpviz.training.methods.dp_sgd import DpSgd
from dpviz.training.methods.langevin import DpSghmc, DpSgld
from dpviz.training.methods.plain import PlainSgd

METHODS: dict[str, type[Method]] = {"dp_sgd": DpSgd, "dp_sgld": DpSgld, "dp_sghmc": DpSghmc, "sgd": PlainSgd}

__all__ = ["METHODS", "DpSgd", "DpSghmc", "DpSgld", "Info", "Method", "PlainSgd", "State"]

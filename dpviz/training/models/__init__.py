"""Networks, in the order in which pages offer them: rows of `models.toml`, made as `networks.NETWORKS` says."""

import tomllib
from importlib import resources

from dpviz.training.models.base import Model
from dpviz.training.models.networks import NETWORKS

_ROWS = tomllib.loads((resources.files(__name__) / "models.toml").read_text(encoding="utf-8"))

# Those that a run may have had.
RECORDED: dict[str, Model] = {
    key: Model(key=key, **row | {"reads": frozenset(row.get("reads", ()))}, **NETWORKS[key])
    for key, row in _ROWS.items()
}
ELSEWHERE = RECORDED["elsewhere"]
MODELS = {key: model for key, model in RECORDED.items() if model is not ELSEWHERE}
# Those that a page trains by itself, without noise, to look into them.
SMALL = {key: MODELS[key] for key in ("logistic", "mlp", "cnn")}

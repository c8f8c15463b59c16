"""Networks, in the order in which pages offer them. One more is one file here and one name in this list."""

from dpviz.training.models.base import Model
from dpviz.training.models.cnn import CNN
from dpviz.training.models.elsewhere import ELSEWHERE
from dpviz.training.models.logistic import BAYESIAN, LOGISTIC
from dpviz.training.models.mlp import MLP
from dpviz.training.models.resnet import RESNET
from dpviz.training.models.scattering import SCATTERING, WHITENED

MODELS: dict[str, Model] = {model.key: model for model in (CNN, SCATTERING, WHITENED, MLP, RESNET, LOGISTIC, BAYESIAN)}
# Those that a page trains by itself, without noise, to look into them.
SMALL: dict[str, Model] = {model.key: model for model in (LOGISTIC, MLP, CNN)}

# Those that a run may have had.
RECORDED: dict[str, Model] = {**MODELS, ELSEWHERE.key: ELSEWHERE}

__all__ = ["ELSEWHERE", "MODELS", "RECORDED", "SMALL", "Model"]

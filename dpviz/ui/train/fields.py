"""The Train form's fields: one a setting, each with its legal range, its words and its place on a slider."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from dpviz.accounting.adaptive.policies import POLICIES
from dpviz.accounting.methods import PROVERS
from dpviz.accounting.pld.accountant import Tight
from dpviz.accounting.renyi.accountant import Moments, Renyi
from dpviz.fields.declared import choice, field, flag, number
from dpviz.fields.field import Field
from dpviz.questions.layout import Reader
from dpviz.training.methods import METHODS
from dpviz.training.models import MODELS
from dpviz.training.models.base import image
from dpviz.training.settings import RunSettings
from dpviz.ui.train.facts import Titles, data_of

DEFAULT = RunSettings()


@dataclass(frozen=True)
class Id(Field[str]):
    """A run's id; empty for none."""

    def parse(self, text: str) -> str:
        if not re.fullmatch(r"[0-9a-zA-Z-]{0,64}", text):
            raise ValueError(f"{self.label}: “{text[:40]}” is no run's id.")
        return text

    def write(self, value: str) -> str:
        return value


DATA = choice("t_data", options=Titles())
MODEL = choice("t_model", options={key: model.title for key, model in MODELS.items()})
METHOD = choice(
    "t_method",
    help=" ".join(kind.words for kind in METHODS.values()),
    options={key: kind.label for key, kind in METHODS.items()},
)
START = field(Id, "t_from")
TRAINED = choice("t_train")
NOISE_BY = choice("t_by")
TARGET = number("t_eps")
SOLVER = choice(
    "t_solver", default=Tight.name, options={each.name: PROVERS[each.name] for each in (Tight, Renyi, Moments)}
)
# σ, δ and δ_μ are those of the what-if pages, with values of their own: a plan is not the setting looked at there.
SIGMA = number("t_sigma")
DELTA = number("t_delta")
CLIP = number("t_clip")
BATCH = number("t_batch")
VIEWS = number("t_views")
STEPS = number("t_steps")
RATE = number("t_lr")
DECAY = number("t_decay")
OPTIMISER = choice("t_opt")
MOMENTUM = number("t_mom")
EXPONENT = choice("t_exp")
FRICTION = number("t_fric")
PRIOR = number("t_prior")
BURN_IN = number("t_burn")
BAYESIAN = choice("t_bdp")
DEFINITION = choice("t_bdef")
DISTANCES = choice("t_bdist")
PAIRS = number("t_pairs")
DELTA_MU = number("t_dmu")
POLICY = choice("t_policy", options={key: kind.label for key, kind in POLICIES.items()})
COUNT_NOISE = number("t_cnoise")
COUNT_EVERY = number("t_cevery")
MARGIN = number("t_margin")
BUDGET_ON = flag("t_bud")
BUDGET = number("t_budget")
GOAL_ON = flag("t_goal")
GOAL = number("t_acc")
MEASURE = choice("t_measure")
PAST = choice("t_past")
MOST = number("t_most")
SEED = number("t_seed")
SECURE = flag("t_secure")
DEVICE = choice("t_dev")
SLOW = choice("t_slow")
EVALUATE = number("t_eval")

FIELDS: tuple[Field[Any], ...] = (
    DATA,
    MODEL,
    METHOD,
    START,
    TRAINED,
    NOISE_BY,
    TARGET,
    SOLVER,
    SIGMA,
    DELTA,
    CLIP,
    BATCH,
    VIEWS,
    STEPS,
    RATE,
    DECAY,
    OPTIMISER,
    MOMENTUM,
    EXPONENT,
    FRICTION,
    PRIOR,
    BURN_IN,
    BAYESIAN,
    DEFINITION,
    DISTANCES,
    PAIRS,
    DELTA_MU,
    POLICY,
    COUNT_NOISE,
    COUNT_EVERY,
    MARGIN,
    BUDGET_ON,
    BUDGET,
    GOAL_ON,
    GOAL,
    MEASURE,
    PAST,
    MOST,
    SEED,
    SECURE,
    DEVICE,
    SLOW,
    EVALUATE,
)

# Which control a message of `RunSettings.check` belongs to.
CONTROL_OF: dict[str, Field[Any]] = {
    "data": DATA,
    "model": MODEL,
    "method": METHOD,
    "start_from": START,
    "trained": TRAINED,
    "policy": POLICY,
    "optimiser": OPTIMISER,
    "learning_rate": RATE,
    "learning_rate_end": DECAY,
    "momentum": MOMENTUM,
    "step_exponent": EXPONENT,
    "friction": FRICTION,
    "prior_std": PRIOR,
    "max_grad_norm": CLIP,
    "noise_multiplier": SIGMA,
    "target_epsilon": TARGET,
    "batch_size": BATCH,
    "views": VIEWS,
    "steps": STEPS,
    "most_steps": MOST,
    "delta": DELTA,
    "delta_mu": DELTA_MU,
    "pairs": PAIRS,
    "definition": DEFINITION,
    "filter_epsilon": BUDGET,
    "target_accuracy": GOAL,
    "target_measure": MEASURE,
    "count_every": COUNT_EVERY,
    "count_noise": COUNT_NOISE,
    "margin_epochs": MARGIN,
    "burn_in": BURN_IN,
    "evaluation_every": EVALUATE,
    "seed": SEED,
    "device": DEVICE,
}


def reads(get: Reader) -> frozenset[str]:
    """The settings that the chosen method and model read, of those that not all do."""
    model, found = MODELS[get(MODEL)], METHODS[get(METHOD)].reads | MODELS[get(MODEL)].reads
    shifted = model.features is None and image(data_of(get(DATA)).shape)
    return found if shifted else found - {"views"}

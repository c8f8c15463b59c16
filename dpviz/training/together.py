"""Settings of a run that cannot work together, with the rule that each breaks: a sentence of words.toml."""

from collections.abc import Iterator

from dpviz import _validate
from dpviz.accounting.adaptive.policies import POLICIES, Fixed
from dpviz.training.data import DATA_SETS
from dpviz.training.data.own.place import is_own
from dpviz.training.methods import METHODS
from dpviz.training.models import RECORDED
from dpviz.training.models.base import image
from dpviz.training.samplers import InOrder, Poisson
from dpviz.training.values import RunValues
from dpviz.training.words import refusal

MOST_CHANGING = 30_000  # steps with a noise of their own: some ten seconds of accounting
# Settings of training with noise, and what they are without.
WITHOUT_NOISE = {"policy": Fixed.key, "filter_epsilon": None, "bayesian": False, "target_measure": "test"}


def check_together(settings: RunValues) -> None:
    """Refuse settings that cannot work together.

    Raises:
        ValueError: naming the setting, its value and the way out.
    """
    if rule := next(_broken(settings), ""):
        readers = {name: _methods_that_read(name) for name in ("policy", "views", "unit", "sampler", "noise_decay")}
        raise refusal(rule, s=settings, most=MOST_CHANGING, **readers)
    for name, off in () if METHODS[settings.method].private else WITHOUT_NOISE.items():
        if getattr(settings, name) != off:
            raise refusal("off_without_noise", name=name, value=getattr(settings, name), off=off)
    by_test = settings.target_accuracy is not None and settings.target_measure == "test"
    if POLICIES[settings.policy].ends and by_test:
        raise refusal("ends", s=settings)
    if settings.bayesian:
        _validate.delta_beyond_failure(settings.bayesian_delta, settings.estimator_failure, 1)


def _reads(s: RunValues, name: str) -> bool:
    """Whether the method or the model reads this setting, which not all do."""
    return name in METHODS[s.method].reads | RECORDED[s.model].reads


def _methods_that_read(name: str) -> str:
    return " or ".join(repr(key) for key, kind in METHODS.items() if name in kind.reads)


def _broken(s: RunValues) -> Iterator[str]:
    """The rules that are broken, in the order in which they are told."""
    yield from _of_the_plan(s)
    yield from _of_the_prior(s)
    if METHODS[s.method].private and s.policy != Fixed.key and not _reads(s, "policy"):
        yield "policy"
    if s.views > 1:
        yield from _of_views(s)
    yield from _of_the_method(s)
    if s.sampler != Poisson.key:
        yield from _of_the_sampler(s)
    if s.noise_decay > 0.0 or s.noise_band > 1:
        yield from _of_correlated_noise(s)
    if s.by_person:
        yield from _of_persons(s)


def _of_the_plan(s: RunValues) -> Iterator[str]:
    if s.past_plan == "replan" and s.most_steps <= s.steps:
        yield "most_steps"
    if METHODS[s.method].nodes(s) and s.last_step > MOST_CHANGING:
        yield "changing"


def _of_the_prior(s: RunValues) -> Iterator[str]:
    if s.prior_std == 0.0 and "prior_std" in RECORDED[s.model].reads:
        yield "prior_of_model"
    if s.prior_std == 0.0 and METHODS[s.method].needs_prior:
        yield "prior_of_method"


def _of_views(s: RunValues) -> Iterator[str]:
    """Several views of an image."""
    shape = () if is_own(s.data) else DATA_SETS[s.data].shape
    if not _reads(s, "views"):
        yield "views_of_method"
    if RECORDED[s.model].features is not None:
        yield "views_of_model"
    if shape and not image(shape):
        yield "views_of_data"


def _of_the_method(s: RunValues) -> Iterator[str]:
    if s.trained != RunValues.trained and not METHODS[s.method].partly:
        yield "trained"
    if _reads(s, "burn_in") and s.burn_in >= s.steps:
        yield "burn_in"


def _of_the_sampler(s: RunValues) -> Iterator[str]:
    """Batches that are not drawn by Poisson sampling."""
    if not _reads(s, "sampler"):
        yield "sampler_of_method"
    if s.filter_epsilon is not None or _counts_examples(s):
        yield "sampler_with"


def _of_correlated_noise(s: RunValues) -> Iterator[str]:
    if not _reads(s, "noise_decay"):
        yield "correlated_of_method"
    if s.sampler != InOrder.key:
        yield "correlated_order"
    if s.noise_decay > 0.0 and s.noise_band > 1:
        yield "correlated_both"


def _of_persons(s: RunValues) -> Iterator[str]:
    """Persons who may have several rows."""
    if not _reads(s, "unit"):
        yield "unit_of_method"
    if not is_own(s.data) and not DATA_SETS[s.data].persons:
        yield "unit_of_data"
    if s.views > 1 or _counts_examples(s):
        yield "unit_with"


def _counts_examples(s: RunValues) -> bool:
    """Whether something is counted or measured whose account knows single, independently drawn examples alone."""
    return s.bayesian or s.policy != Fixed.key or s.target_measure != "test"

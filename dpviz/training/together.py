"""Settings of a run that cannot work together, and the sentence that refuses each combination, with the way out."""

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
from dpviz.training.words import Refusal, refusal, words

MOST_CHANGING = 30_000  # steps with a noise of their own: some ten seconds of accounting
# Settings of training with noise, and what they are without.
WITHOUT_NOISE = {"policy": Fixed.key, "filter_epsilon": None, "bayesian": False, "target_measure": "test"}


def check_together(settings: RunValues) -> None:
    """Refuse settings that cannot work together.

    Raises:
        ValueError: naming the setting, its value and the way out.
    """
    if broken := next(_broken(settings), ""):
        raise Refusal(broken)
    for name, off in () if METHODS[settings.method].private else WITHOUT_NOISE.items():
        if getattr(settings, name) != off:
            raise refusal("off_without_noise", name=name, value=getattr(settings, name), off=off)
    by_test = settings.target_accuracy is not None and settings.target_measure == "test"
    if POLICIES[settings.policy].ends and by_test:
        raise Refusal(
            f"Expected target_measure='private' with policy={settings.policy!r}: this policy stops by its own private "
            "count. Take target_measure='private'."
        )
    if settings.bayesian:
        _validate.delta_beyond_failure(settings.bayesian_delta, settings.estimator_failure, 1)


def _reads(s: RunValues, name: str) -> bool:
    """Whether the method or the model reads this setting, which not all do."""
    return name in METHODS[s.method].reads | RECORDED[s.model].reads


def _methods_that_read(name: str) -> str:
    return " or ".join(repr(key) for key, kind in METHODS.items() if name in kind.reads)


def _broken(s: RunValues) -> Iterator[str]:
    """What is wrong, the most basic first."""
    yield from _of_the_plan(s)
    yield from _of_the_prior(s)
    if METHODS[s.method].private and s.policy != Fixed.key and not _reads(s, "policy"):
        yield (
            f"Expected policy={s.policy!r} with method {_methods_that_read('policy')}: the noise of {s.method!r} "
            "follows from its step size. Take policy='fixed'."
        )
    if s.views > 1:
        yield from _of_views(s)
    yield from _of_the_method(s)
    if s.sampler != Poisson.key:
        yield from _of_the_sampler(s)
    if s.noise_decay > 0.0 or s.noise_band > 1:
        yield from _of_correlated_noise(s)
    if s.by_person:
        yield from _of_persons(s)
    if s.followed:
        yield from _of_followed(s)


def _of_the_plan(s: RunValues) -> Iterator[str]:
    if s.past_plan == "replan" and s.most_steps <= s.steps:
        yield (
            f"Expected most_steps={s.most_steps} > steps={s.steps} with past_plan='replan': raise it, or take "
            "past_plan='stop'."
        )
    if METHODS[s.method].nodes(s) and s.last_step > MOST_CHANGING:
        yield (
            f"Expected steps={s.last_step} <= {MOST_CHANGING} if the noise changes at every step: each step is then "
            "accounted for by itself. Take a fixed step size (step_exponent=0), or fewer steps."
        )


def _of_the_prior(s: RunValues) -> Iterator[str]:
    if s.prior_std == 0.0 and "prior_std" in RECORDED[s.model].reads:
        yield f"Expected prior_std > 0 with model={s.model!r}, found 0: take 1, or model='logistic'."
    if s.prior_std == 0.0 and METHODS[s.method].needs_prior:
        yield f"Expected prior_std > 0 with method={s.method!r}, found 0: take 1."


def _of_views(s: RunValues) -> Iterator[str]:
    """Several views of an image."""
    shape = () if is_own(s.data) else DATA_SETS[s.data].shape
    if not _reads(s, "views"):
        yield (
            f"Expected views=1 with method={s.method!r}, found {s.views}: only {_methods_that_read('views')} averages "
            "over views. Take views=1."
        )
    if RECORDED[s.model].features is not None:
        yield (
            f"Expected views=1 with model={s.model!r}, found {s.views}: its features are computed once, before all "
            "steps. Take views=1."
        )
    if shape and not image(shape):
        yield (f"Expected views=1 with data={s.data!r}, found {s.views}: only images can be shifted. Take views=1.")


def _of_followed(s: RunValues) -> Iterator[str]:
    """Examples with an ε of their own: each is drawn by itself, and has one gradient at the weights of a step."""
    if not _reads(s, "followed"):
        yield (
            f"Expected followed=0 with method={s.method!r}, found {s.followed}: only {_methods_that_read('followed')} "
            "can follow single examples. Take followed=0."
        )
    if s.sampler != Poisson.key or s.by_person or s.views > 1:
        yield (
            f"Expected followed=0 with sampler={s.sampler!r}, unit={s.unit!r} and views={s.views}, found {s.followed}: "
            "an ε of one example needs Poisson batches of single examples without views. Take followed=0."
        )


def _of_the_method(s: RunValues) -> Iterator[str]:
    if s.trained != RunValues.trained and not METHODS[s.method].partly:
        yield (
            f"Expected trained='all' with method={s.method!r}, found {s.trained!r}: this method trains all weights. "
            "Take trained='all' or another method."
        )
    if _reads(s, "burn_in") and s.burn_in >= s.steps:
        yield (
            f"Expected burn_in={s.burn_in} < steps={s.steps}: otherwise there is no posterior sample. Lower it, or "
            "take more steps."
        )


def _of_the_sampler(s: RunValues) -> Iterator[str]:
    """Batches that are not drawn by Poisson sampling."""
    if not _reads(s, "sampler"):
        yield (
            f"Expected sampler='poisson' with method={s.method!r}, found {s.sampler!r}: only "
            f"{_methods_that_read('sampler')} draw batches otherwise. Take one of them, or sampler='poisson'."
        )
    if s.filter_epsilon is not None or _counts_examples(s):
        yield (
            f"Expected sampler={s.sampler!r} with policy='fixed', target_measure='test', bayesian=False and no "
            "filter_epsilon: budgets, counts and Bayesian accounting support Poisson batches only. Switch them off, or "
            "take sampler='poisson'."
        )


def _of_correlated_noise(s: RunValues) -> Iterator[str]:
    if not _reads(s, "noise_decay"):
        yield (
            f"Expected noise_decay=0 and noise_band=1 with method={s.method!r}: only "
            f"{_methods_that_read('noise_decay')} correlates its noise. Take it, or independent noise."
        )
    if s.sampler != InOrder.key:
        yield (
            f"Expected sampler='order' with correlated noise (noise_decay={s.noise_decay:.6g}, "
            f"noise_band={s.noise_band}), found {s.sampler!r}: an example's batches must lie whole epochs apart. Take "
            "sampler='order', or independent noise."
        )
    if s.noise_decay > 0.0 and s.noise_band > 1:
        yield (
            f"Expected noise_decay=0 or noise_band=1, found noise_decay={s.noise_decay:.6g} and "
            f"noise_band={s.noise_band}: noise is correlated in one of two ways. Take one of them."
        )


def _of_persons(s: RunValues) -> Iterator[str]:
    """Persons who may have several rows."""
    if not _reads(s, "unit"):
        yield (
            f"Expected unit='example' with method={s.method!r}: only {_methods_that_read('unit')} draw and clip whole "
            "persons. Take one of them, or unit='example'."
        )
    if not is_own(s.data) and not DATA_SETS[s.data].persons:
        yield words("unit_of_data", data=s.data)
    if s.views > 1 or _counts_examples(s):
        yield (
            "Expected unit='person' with views=1, policy='fixed', target_measure='test' and bayesian=False: these "
            "count single examples, of which a person may have many. Switch them off, or take unit='example'."
        )


def _counts_examples(s: RunValues) -> bool:
    """Whether something is counted or measured whose account knows single, independently drawn examples alone."""
    return s.bayesian or s.policy != Fixed.key or s.target_measure != "test"

"""dpviz: see differential privacy. Nothing here needs Streamlit, Plotly or torch before it is used.

>>> import dpviz
>>> plan = dict(noise_multiplier=4, sample_rate=0.01, steps=10_000)
>>> dpviz.epsilon(delta=1e-5, **plan)  # by the numerical (PLD) accountant: the least that is proven
0.948...
>>> dpviz.epsilon("rdp", delta=1e-5, **plan)  # by Rényi divergences; "moments", "strong", … are others
1.035...
>>> round(dpviz.best_accuracy(**plan).upper, 4)  # no attack on one example is right more often
0.5505

The public names; help(dpviz.epsilon) explains one, docs/use/reference.md lists all with their arguments.

- ε and δ: epsilon, delta, renyi_divergence, closed_form_divergence, tuned_epsilon, accountant, METHODS, Ledger, Bound
- Solve for σ, q, T or δ: solve
- Mechanisms: mechanisms, Mechanism, Adjacency, SampledGaussian, ReplaceOneGaussian, TruncatedPoisson, FixedSize,
  WithReplacement, RandomAllocation, Shuffled, FixedPartition, SecretPartition, CorrelatedNoise, BandedNoise, Laplace,
  RandomisedResponse, PersonRows, PersonOf, of_person
- Attacks: attack_success, posterior_belief, roc_bound, best_accuracy, Accuracy, best_advantage, best_tpr, gaussian_mu,
  GaussianMu, gaussian_roc, profile_roc, profile_success
- A divisor that follows N: noise_scale_epsilon, noise_scale_delta
- Bayesian DP: bayesian_epsilon, bayesian_law_epsilon, bayesian_cost, bayesian
- Langevin methods: langevin_epsilon, langevin_step_size, PowerSchedule, langevin
- Plans that change and stop: Filter, BudgetExceeded, Odometer, odometer_epsilon, FullyAdaptiveFilter, IndividualFilter
- PATE: pate
- Papers: papers
- Training: training, watch, RunStopped
- Questions of the app: ask, guarantee, Guarantee, translate
"""

import typing as _typing

from dpviz import library as _library
from dpviz._extras import extra as _extra
from dpviz._version import __version__ as __version__
from dpviz.library import *  # noqa: F403

if _typing.TYPE_CHECKING:
    from dpviz import training as training
    from dpviz.questions.asked import Asked as _Asked
    from dpviz.questions.guarantee.card import Guarantee as Guarantee
    from dpviz.questions.guarantee.plan import PlanArguments as _PlanArguments
    from dpviz.questions.pasted.translate import Translation as _Translation
    from dpviz.runs.told.watch import RunStopped as RunStopped
    from dpviz.runs.told.watch import watch as watch


def ask(question: str, /, **settings: _typing.Any) -> "_Asked":
    """Ask a question of the app: its headline, chart, table, points and script (`dpviz.questions.asked.ask`).

    >>> dpviz.ask("success", epsilon=1.0, delta=1e-5).headline.split(",")[0]  # doctest: +SKIP
    'Under ε = 1 and δ = 1e-5 alone'
    """
    with _extra("ask"):  # pandas, for the tables, and all questions: only for who asks
        from dpviz.questions import asked

    return asked.ask(question, **settings)


def guarantee(**plan: "_typing.Unpack[_PlanArguments]") -> "Guarantee":
    """The guarantee card of a plan; its arguments are those of `dpviz.questions.guarantee.plan.guarantee`.

    >>> plan = dict(noise_multiplier=1.1, sample_rate=256 / 60_000, steps=14_062, delta=1e-5)
    >>> dpviz.guarantee(**plan).headline  # doctest: +SKIP
    'ε ≤ 2.38464 at δ = 1e-5, for one example'
    """
    with _extra("ask"):
        from dpviz.questions.guarantee import plan as of_plan

    return of_plan.guarantee(**plan)


def translate(text: str) -> "_Translation":
    """Settings of another library, an accountant's history or a log as events here; see `Translation`.

    >>> dpviz.translate("[(1.1, 0.01, 3510)]").epsilon(1e-5) == dpviz.epsilon(  # doctest: +SKIP
    ...     noise_multiplier=1.1, sample_rate=0.01, steps=3510, delta=1e-5
    ... )
    True
    """
    with _extra("ask"):
        from dpviz.questions.pasted import translate as reader

    return reader.translate(text)


# What is loaded for who names it: words and what they need; training; the store of runs.
_LATER = ("Guarantee", "RunStopped", "training", "watch")

if not _typing.TYPE_CHECKING:  # type checkers would take every name for one of these

    def __getattr__(name):
        """`Guarantee`, the class of `guarantee`, the package `training`, and `watch` with what it raises."""
        if name not in _LATER:
            raise AttributeError(f"module 'dpviz' has no attribute {name!r}")
        if name == "training":
            from importlib import import_module

            return import_module("dpviz.training")
        if name in ("RunStopped", "watch"):
            from dpviz.runs.told import watch

            return getattr(watch, name)
        with _extra("ask"):
            from dpviz.questions.guarantee.card import Guarantee

        return Guarantee


def __dir__() -> list[str]:
    """The public names, and nothing that is imported for them."""
    names = {name for name in vars(_library) if not name.startswith("_")} | {"ask", "guarantee", "translate", *_LATER}
    return sorted(names, key=lambda name: (not name.isupper(), name.islower(), name))

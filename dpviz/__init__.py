"""dpviz: see differential privacy. The library's public names; nothing here needs Streamlit, Plotly or torch.

>>> import dpviz
>>> round(dpviz.epsilon("moments", noise_multiplier=4, sample_rate=0.01, steps=10_000, delta=1e-5), 3)
1.259
>>> round(dpviz.attack_success(2.0), 4)  # what ε = 2 alone allows a guess of membership
0.8808
>>> round(dpviz.best_accuracy(noise_multiplier=4, sample_rate=0.01, steps=10_000).upper, 4)  # what the mechanism does
0.5505
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpviz import library as _library
from dpviz._extras import extra
from dpviz._version import __version__ as __version__
from dpviz.library import *  # noqa: F403

if TYPE_CHECKING:
    from typing import Unpack

    from dpviz.questions.asked import Asked
    from dpviz.questions.guarantee.card import Guarantee as Guarantee
    from dpviz.questions.guarantee.plan import PlanArguments
    from dpviz.questions.pasted.translate import Translation


def ask(question: str, /, **settings: Any) -> Asked:
    """Ask a question of the app: its headline, chart, table, points and script (`dpviz.questions.asked.ask`).

    >>> dpviz.ask("success", epsilon=1.0, delta=1e-5).headline.split(",")[0]  # doctest: +SKIP
    'Under ε = 1 and δ = 1e-5 alone'
    """
    with extra("ask"):  # pandas, for the tables, and all questions: only for who asks
        from dpviz.questions import asked

    return asked.ask(question, **settings)


def guarantee(**plan: Unpack[PlanArguments]) -> Guarantee:
    """The guarantee card of a plan; its arguments are those of `dpviz.questions.guarantee.plan.guarantee`.

    >>> plan = dict(noise_multiplier=1.1, sample_rate=256 / 60_000, steps=14_062, delta=1e-5)
    >>> dpviz.guarantee(**plan).headline  # doctest: +SKIP
    'ε ≤ 2.38464 at δ = 1e-5, for one example'
    """
    with extra("ask"):
        from dpviz.questions.guarantee import plan as of_plan

    return of_plan.guarantee(**plan)


def translate(text: str) -> Translation:
    """Settings of another library, an accountant's history or a log as events here; see `Translation`.

    >>> dpviz.translate("[(1.1, 0.01, 3510)]").epsilon(1e-5) == dpviz.epsilon(  # doctest: +SKIP
    ...     "tight", noise_multiplier=1.1, sample_rate=0.01, steps=3510, delta=1e-5
    ... )
    True
    """
    with extra("ask"):
        from dpviz.questions.pasted import translate as reader

    return reader.translate(text)


def __getattr__(name: str) -> Any:
    """`Guarantee`, the class of `guarantee`: its words, and what they need, are loaded for who names it."""
    if name != "Guarantee":
        raise AttributeError(f"module 'dpviz' has no attribute {name!r}")
    with extra("ask"):
        from dpviz.questions.guarantee.card import Guarantee

    return Guarantee


_NAMES = {name for name in vars(_library) if not name.startswith("_")} | {"ask", "guarantee", "translate"}
__all__ = sorted(_NAMES, key=lambda name: (not name.isupper(), name.islower(), name))

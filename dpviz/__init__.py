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
    from dpviz.questions.asked import Asked
    from dpviz.questions.papers.translate import Translation


def ask(question: str, /, **settings: Any) -> Asked:
    """Ask a question of the app: its headline, chart, table, points and script (`dpviz.questions.asked.ask`).

    >>> dpviz.ask("success", epsilon=1.0, delta=1e-5).headline.split(",")[0]  # doctest: +SKIP
    'Under ε = 1 and δ = 1e-5 alone'
    """
    with extra("ask"):  # pandas, for the tables, and all questions: only for who asks
        from dpviz.questions import asked

    return asked.ask(question, **settings)


def translate(text: str) -> Translation:
    """Settings of another library, an accountant's history or a log as events here; see `Translation`.

    >>> dpviz.translate("[(1.1, 0.01, 3510)]").epsilon(1e-5) == dpviz.epsilon(  # doctest: +SKIP
    ...     "tight", noise_multiplier=1.1, sample_rate=0.01, steps=3510, delta=1e-5
    ... )
    True
    """
    with extra("ask"):
        from dpviz.questions.papers import translate as reader

    return reader.translate(text)


_NAMES = {name for name in vars(_library) if not name.startswith("_")} | {"ask", "translate"}
__all__ = sorted(_NAMES, key=lambda name: (not name.isupper(), name.islower(), name))

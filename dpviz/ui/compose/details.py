"""Details on demand below the Compose chart: computed only when opened."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from dpviz.accounting.attack import attack_success
from dpviz.accounting.bayesian_claims import bayesian_group, bayesian_percentile
from dpviz.charts import numbers
from dpviz.ui import page
from dpviz.ui.compose import explain
from dpviz.ui.compose.curves import NAMES, Curves
from dpviz.ui.compose.script import script
from dpviz.ui.sources import Sample
from dpviz.ui.state import Keys

_PARTS = ("Table", "Formula", "Assumptions", "Distances", "Python", "Link and files")


def show(curves: Curves, sample: Sample | None) -> None:
    """The chosen part, or none."""
    part = st.segmented_control("Details", _PARTS, key=Keys.DETAILS, label_visibility="collapsed")
    if part == "Table":
        st.dataframe(table(curves), width="stretch", hide_index=True)
    elif part == "Formula":
        for name, latex in explain.formulas(curves):
            st.caption(name)
            st.latex(latex)
    elif part == "Assumptions":
        st.markdown(explain.ASSUMPTIONS)
    elif part == "Distances":
        _distances(curves, sample)
    elif part == "Python":
        st.code(script(curves, sample), language="python")
    elif part == "Link and files":
        _files(curves)


def image_format() -> str:
    """ "png" or "svg": what the chart's camera button saves."""
    return str(st.session_state.get(Keys.IMAGE_FORMAT) or "png")


def image_format_control() -> None:
    st.segmented_control(
        "Image format of the chart's camera button",
        ["png", "svg"],
        default="png",
        required=True,
        format_func=str.upper,
        key=Keys.IMAGE_FORMAT,
    )


def marked_steps(steps: int) -> list[int]:
    """1, 2, 5, 10, … up to and with `steps`, the last dozen of them."""
    marks = [m * 10**e for e in range(13) for m in (1, 2, 5) if m * 10**e < steps]
    return [*marks[-11:], steps]


def table(curves: Curves) -> pd.DataFrame:
    """Rows: marked steps of the curve's own grid (the nearest); columns: ε, α and P(A) of every method."""
    wanted = np.array(marked_steps(curves.settings.steps), dtype=float)
    rows = np.unique(np.abs(curves.steps[None, :] - wanted[:, None]).argmin(axis=1))
    columns: dict[str, list[str]] = {"steps": [numbers.steps(t) for t in curves.steps[rows]]}
    for key, bound in curves.bounds.items():
        name = NAMES[key] + ("" if curves.valid(key) else " (no bound)")
        columns[f"ε {name}"] = [numbers.epsilon(e, digits=4, up=True) for e in bound.epsilon[rows]]
        columns[f"P(A) {name}"] = [_chance(e, curves.settings.delta) for e in bound.epsilon[rows]]
        if not np.isnan(bound.order).all():
            columns[f"α {name}"] = [numbers.plain(a, digits=4) for a in bound.order[rows]]
    if curves.bayesian is not None and curves.settings.bayesian is not None:
        epsilon = curves.bayesian.epsilon[rows]
        columns["ε_μ Bayesian DP"] = [numbers.epsilon(e, digits=4, up=True) for e in epsilon]
        columns["P(A) Bayesian DP"] = [_chance(e, curves.settings.bayesian.delta_mu) for e in epsilon]
        columns["λ Bayesian DP"] = [f"{a - 1:.0f}" for a in curves.bayesian.order[rows]]
    return pd.DataFrame(columns)


def _chance(epsilon: float, delta: float) -> str:
    if np.isnan(epsilon):
        return "–"
    return numbers.probability(float(attack_success(epsilon, delta=delta)), up=True)


def frame(curves: Curves) -> pd.DataFrame:
    """All points of all curves as numbers, for CSV."""
    columns: dict[str, np.ndarray] = {"steps": curves.steps}
    for key, bound in curves.bounds.items():
        columns[f"epsilon_{key}"] = bound.epsilon
        columns[f"order_{key}"] = bound.order
    if curves.bayesian is not None:
        columns["epsilon_bayesian"] = curves.bayesian.epsilon
        columns["order_bayesian"] = curves.bayesian.order
        columns["largest_share_bayesian"] = curves.bayesian.largest_share
        columns["effective_size_bayesian"] = curves.bayesian.effective_size
    return pd.DataFrame(columns)


def csv(curves: Curves) -> bytes:
    """The CSV file, its first line a comment with the settings."""
    s = curves.settings
    head = f"# dpviz; noise_multiplier={s.sigma!r} sample_rate={s.rate!r} delta={s.delta!r} bayesian={s.bayesian}\n"
    return (head + frame(curves).to_csv(index=False)).encode()


def _distances(curves: Curves, sample: Sample | None) -> None:
    if curves.scene is None or sample is None or curves.bayesian is None or curves.settings.bayesian is None:
        page.remark("Bayesian DP is switched off or has no gradients: there are no distances to show.")
        return
    from dpviz.ui.compose.view import histogram

    page.remark(explain.sources_note(curves, sample.gradients.description))
    if not explain.tail_warning(curves):
        histogram(curves)
    _claims(curves)


def _claims(curves: Curves) -> None:
    """What ε_μ says about shares of the data and about groups (Triastcyn & Faltings 2020, §4.4.1 and Appendix A)."""
    assert curves.bayesian is not None
    assert curves.settings.bayesian is not None
    epsilon, delta_mu = float(curves.bayesian.epsilon[-1]), curves.settings.bayesian.delta_mu
    rows = [
        {
            "holds for": f"{numbers.plain(100 * share, digits=8)} % of such data",
            "ε": numbers.epsilon(epsilon, up=True),
            "δ": numbers.delta(bayesian_percentile(delta_mu=delta_mu, share=share)),
        }
        for share in (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)
    ]
    if np.isfinite(epsilon):
        for size in (2, 5):
            e, d = bayesian_group(epsilon_mu=epsilon, delta_mu=delta_mu, size=size)
            rows.append({"holds for": f"groups of {size}", "ε": numbers.epsilon(e, up=True), "δ": numbers.delta(d)})
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="content")


def _files(curves: Curves) -> None:
    query = page.link()
    st.caption("This link reproduces the page, pins included. An uploaded file is not part of it.")
    base = (st.context.url or "").split("?")[0]
    st.code(f"{base}{'?' + query if query else ''}", language=None, wrap_lines=True)
    st.download_button(
        "Download the curves (CSV)",
        data=lambda: csv(curves),
        file_name="dpviz-compose.csv",
        mime="text/csv",
        on_click="ignore",
        icon=":material/download:",
    )
    st.caption("The chart's camera button saves it as an image: choose PNG or SVG under Show.")

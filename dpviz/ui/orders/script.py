"""A Python script that reproduces the Orders chart with the library alone."""

from __future__ import annotations

from dpviz.ui.orders.curves import Orders, Series
from dpviz.ui.orders.settings import Settings

_CONVERTED = {
    "improved": "{total} + np.log1p(-1 / {a}) - (np.log(delta) + np.log({a})) / ({a} - 1)",
    "classic": "{total} + np.log(1 / delta) / ({a} - 1)",
}


def script(found: Orders) -> str:
    """Source text; running it leaves `curves` (name → (α, values)) and, as a program, shows the chart."""
    s = found.settings
    parts = [
        '"""Rényi orders of the sampled Gaussian mechanism; needs dpviz, numpy and plotly."""\n',
        "import numpy as np",
        "import plotly.graph_objects as go\n",
        "import dpviz",
        *([] if s.view == "thresholds" else ["from dpviz.accounting.orders import DEFAULT_ORDERS"]),
        f"\nsigma, q, steps, delta = {s.sigma!r}, {s.rate!r}, {s.steps}, {s.delta!r}",
    ]
    if s.view == "thresholds":
        parts += _whole(found.exact, "orders", s)
        parts.append("curves = {}")
        for series, threshold in zip(found.series, s.thresholds, strict=True):
            spent = (
                f"steps * dpviz.renyi_divergence(noise_multiplier=sigma / {threshold!r}, sample_rate=q, orders=orders)"
            )
            parts.append(f"curves[{series.name!r}] = (orders, {spent} + np.log(1 / delta) / (orders - 1))")
    else:
        last = s.largest + 1.0
        parts += [
            *(_deciding() if s.view == "epsilon" else ["deciding = []"]),
            f"orders = np.unique([*DEFAULT_ORDERS, *deciding, *range(2, 34), {last!r}])",
            f"orders = orders[orders <= {last!r}]",
            "exact = dpviz.renyi_divergence(noise_multiplier=sigma, sample_rate=q, orders=orders)",
            "curves = {}",
            *(line for series in found.series if series.orders.size for line in _series(series, s)),
        ]
    log_y = ', type="log"' if s.view in ("divergence", "concentrated") else ""
    parts += [
        '\nif __name__ == "__main__":',
        "    figure = go.Figure([go.Scatter(x=a - 1, y=y, name=name) for name, (a, y) in curves.items()])",
        f'    figure.update_layout(xaxis=dict(title="λ = α − 1", type="log"), yaxis=dict(title="{_title(s)}"{log_y}))',
        "    figure.show()\n",
    ]
    return "\n".join(parts)


def _deciding() -> list[str]:
    """The orders between the grid's at which the accountant reads ε."""
    return [
        "known = dict(noise_multiplier=sigma, sample_rate=q, steps=steps, delta=delta)",
        'deciding = [dpviz.accountant("renyi", conversion=c).evaluate(**known).order for c in ("improved", "classic")]',
    ]


def _title(s: Settings) -> str:
    return {"divergence": "R(α)", "concentrated": "R(α)/α"}.get(s.view, "ε")


def _whole(series: Series, name: str, s: Settings) -> list[str]:
    top = int(series.orders[-1]) - 1
    head = f"np.arange(1.0, {min(top, 64)} + 1)"
    if top > 64:
        head = f"np.unique(np.r_[{head}, np.round(np.geomspace(64, {top}, 100))])"
    return [f"{name} = {head} + 1"]


def _series(series: Series, s: Settings) -> list[str]:
    setting = "noise_multiplier=sigma, sample_rate=q"
    if s.view == "concentrated":
        value = {
            "renyi_improved": "exact / orders",
            "basic": "np.full(orders.shape, 0.5 / sigma / sigma)",
            "plateau": "np.full(orders.shape, 0.5 * q**2 * np.expm1(1 / sigma / sigma))",
        }[series.key]
        return [f"curves[{series.name!r}] = (orders, {value})"]
    before, orders = [], "orders"
    if series.key in ("renyi_improved", "renyi_classic"):
        value = "exact"
    elif series.key == "closed_form":
        value = f"dpviz.closed_form_divergence({setting}, orders=orders)"
    elif series.key == "asymptotic":
        before, orders = _whole(series, "whole", s), "whole"
        value = f"dpviz.asymptotic_moment({setting}, orders=whole - 1) / (whole - 1)"
    else:
        value = "orders / (2 * sigma) / sigma"
    if s.view == "epsilon":
        conversion = "improved" if series.key in ("renyi_improved", "closed_form") else "classic"
        value = f"np.maximum({_CONVERTED[conversion].format(total=f'steps * {value}', a=orders)}, 0)"
        if s.rate == 0.0:
            value = f"np.zeros({orders}.shape)"
    return [*before, f"curves[{series.name!r}] = ({orders}, {value})"]

"""A Python script that reproduces the Attack chart with the library alone."""

from __future__ import annotations

import math

from dpviz.ui.attack.beliefs import exception
from dpviz.ui.attack.curves import MEDIAN, NAMES, ORDERS, POINTS, SPREAD, Found, delta_kept
from dpviz.ui.attack.settings import Settings, Town

_TITLES = {
    "success": ("ε", "probability"),
    "roc": ("false positive rate", "true positive rate"),
    "town": ("ε", "share of right guesses"),
    "releases": ("released mean", "density"),
    "residents": ("share left out", "ε"),
}


def script(found: Found) -> str:
    """Source text; running it leaves `curves` (name → y along `x`) and, as a program, shows the chart."""
    s = found.settings
    imports = ["import numpy as np", "import plotly.graph_objects as go\n", "import dpviz"]
    if s.view == "roc" and found.has_tight:
        imports += ["from dpviz.accounting.tight import tight_profile"]
    if s.town is not None:
        imports += ["from dpviz.accounting import town as towns"]
    body = {
        "success": _success,
        "roc": _roc,
        "town": _played,
        "releases": _releases,
        "residents": _residents,
    }[s.view](found)
    log = ', type="log"' if s.log_rates or s.view == "residents" else ""
    x_title, y_title = _TITLES[s.view]
    return "\n".join(
        [
            '"""What an attacker can do; needs dpviz, numpy and plotly."""\n',
            *imports,
            "",
            *body,
            '\nif __name__ == "__main__":',
            "    figure = go.Figure([go.Scatter(x=x, y=y, name=name) for name, y in curves.items()])",
            f'    figure.update_layout(xaxis=dict(title="{x_title}"{log}), yaxis=dict(title="{y_title}"{log}))',
            "    figure.show()\n",
        ]
    )


def _success(found: Found) -> list[str]:
    s = found.settings
    right = NAMES["bound" if found.get("bound") else "accuracy"]
    parts = [
        f"x = np.linspace(0, {s.largest!r}, {POINTS})",
        f"curves = {{{right!r}: dpviz.attack_success(x, delta={s.delta!r}, prior={s.prior!r})}}",
    ]
    if found.get("pure"):
        parts.append(f"curves[{NAMES['pure']!r}] = dpviz.attack_success(x)")
    if found.get("belief"):
        parts.append(
            f"curves[{NAMES['belief']!r}] = dpviz.posterior_belief("
            f"x, prior={s.prior!r}, delta={s.delta!r}, failure={exception(s)!r})"
        )
    return parts


def _roc(found: Found) -> list[str]:
    s = found.settings
    small = f"np.geomspace(1e-6, 1, {POINTS})"
    grid = small if s.log_rates else f"np.unique(np.r_[0, {small}, np.linspace(0, 1, 101)])"
    parts = [f"x = {grid}", "curves = {}"]
    if math.isfinite(found.epsilon):
        parts += [
            f"mechanism = dict(noise_multiplier={s.sigma!r}, sample_rate={s.rate!r}, steps={s.steps})",
            f'epsilon = dpviz.epsilon("renyi", delta={s.delta!r}, **mechanism)',
            f"curves[{NAMES['pair']!r}] = dpviz.roc_bound(x, epsilon=epsilon, delta={s.delta!r})",
            "at = np.linspace(0, 1.5 * epsilon, 61)",
            'failure = np.minimum(dpviz.delta("renyi", epsilon=at, **mechanism), 1)',
            f"curves[{NAMES['renyi']!r}] = dpviz.profile_roc(x, epsilon=at, delta=failure)",
        ]
    parts += [
        f"curves[{NAMES['unsampled']!r}] = dpviz.gaussian_roc(x, noise_multiplier={s.sigma!r})",
        f"curves[{NAMES['guess']!r}] = x",
    ]
    if found.has_tight:
        parts += [
            f"profile = tight_profile(dpviz.SampledGaussian({s.sigma!r}, {s.rate!r}), {s.steps}, points=120)",
            f"curves[{NAMES['tight']!r}] = dpviz.profile_roc(",
            "    x, epsilon=profile.epsilon, delta=np.clip(profile.upper, 0, 1)",
            ")",
        ]
    return parts


def _town(s: Settings, t: Town) -> list[str]:
    return [
        f"town = towns.draw_town(residents={t.residents}, median={MEDIAN!r}, spread={SPREAD!r}, "
        f"outlier_factor={t.factor!r}, seed={t.seed})",
        f"release = dict(mechanism={t.noise!r}, delta={s.delta!r})",
    ]


def _played(found: Found) -> list[str]:
    s = found.settings
    assert s.town is not None
    t = s.town
    last = max(s.largest, 1.25 * t.epsilon)
    return [
        *_town(s, t),
        f"plays = dict(limit=town.limit, releases={t.releases}, seed={t.seed}, confidence=0.99, **release)",
        f"x = np.linspace(0, {last!r}, 81)[1:]",
        "outlier = towns.play(town.outlier, epsilon=x, **plays)",
        f"resident = towns.play(town.resident({t.share!r}), epsilon=x, **plays)",
        "curves = {",
        f"    {NAMES['bound']!r}: dpviz.attack_success(x, delta={delta_kept(s)!r}),",
        f"    {NAMES['sure']!r}: outlier.sure,",
        f"    {NAMES['outlier']!r}: outlier.accuracy,",
        f"    {NAMES['resident']!r}: resident.accuracy,",
        "}",
    ]


def _releases(found: Found) -> list[str]:
    s = found.settings
    assert s.town is not None
    t = s.town
    laplace = t.noise == "laplace"
    density = "np.exp(-np.abs(z)) / (2 * scale)" if laplace else "np.exp(-(z**2) / 2) / (np.sqrt(2 * np.pi) * scale)"
    tail = 5.0 if laplace else 3.2
    return [
        *_town(s, t),
        f"scale = float(towns.noise_scale(epsilon={t.epsilon!r}, **release)) * town.limit / {t.residents}",
        f"without = float(town.incomes.sum()) / {t.residents}",
        f"there = without + town.outlier / {t.residents}",
        f"around = np.linspace(without - {tail} * scale, there + {tail} * scale, {POINTS})",
        "x = np.unique(np.r_[around, without, there])",
        "curves = {}",
        f"for name, mean in (({NAMES['without']!r}, without), ({NAMES['with']!r}, there)):",
        "    z = (x - mean) / scale",
        f"    curves[name] = {density}",
    ]


def _residents(found: Found) -> list[str]:
    s = found.settings
    assert s.town is not None
    t = s.town
    parts = [
        *_town(s, t),
        "x = np.geomspace(1e-5, 0.9, 31)",
        "incomes = np.quantile(town.incomes, 1 - x)",
        "curves = {",
        f"    {NAMES['dp']!r}: np.full(x.shape, {t.epsilon!r}),",
        f"    {NAMES['own']!r}: towns.own_epsilon(incomes, limit=town.limit, epsilon={t.epsilon!r}, **release),",
        "}",
    ]
    if t.noise == "gaussian":
        parts += [
            f"noise_std = float(towns.noise_scale(epsilon={t.epsilon!r}, **release)) * town.limit",
            f"kept = {s.delta!r} * x > 2e-15",
            "promised = np.full(x.shape, np.nan)",
            "promised[kept] = dpviz.bayesian_epsilon(",
            f"    town.incomes, noise_std=noise_std, sample_rate=1.0, steps=1, delta_mu={s.delta!r} * x[kept],",
            f"    orders={list(ORDERS)},",
            ")",
            f"curves[{NAMES['bayesian']!r}] = promised",
        ]
    return parts

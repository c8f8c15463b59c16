"""A Python script that reproduces the Langevin chart with the library alone."""

from __future__ import annotations

from dpviz.ui.langevin.curves import EPSILON_POINTS, SIZE_POINTS, STEP_POINTS, Answer, mse_grid, theorems
from dpviz.ui.langevin.settings import Settings

X_NAMES = {"cost": "steps", "conditions": "steps", "size": "N", "clip": "L", "region": "batch τ", "mse": "step size"}


def script(found: Answer) -> str:
    """Source text; running it leaves `x` and `curves` (name → y) and, as a program, shows the chart."""
    s = found.settings
    body = {
        "cost": _cost,
        "epsilon": _epsilon,
        "size": _size,
        "clip": _clip,
        "conditions": _conditions,
        "region": _region,
        "mse": _mse,
        "mse_epsilon": _mse_epsilon,
    }[s.view](found)
    parts = [
        '"""Step sizes of private Langevin dynamics; needs dpviz, numpy and plotly."""\n',
        "import numpy as np",
        "import plotly.graph_objects as go\n",
        "import dpviz",
        *body,
        '\nif __name__ == "__main__":',
        "    figure = go.Figure([go.Scatter(x=x, y=y, name=name) for name, y in curves.items()])",
        f'    figure.update_layout(xaxis=dict(title="{X_NAMES.get(s.view, "ε")}", type="log"))',
        *([] if s.view == "cost" else ['    figure.update_yaxes(type="log")']),
        "    figure.show()\n",
    ]
    return "\n".join(parts)


def _sampler(s: Settings, *, batch: str | None = None, n: str | None = None, clip: str | None = None) -> str:
    said = f"n={n or repr(s.n)}, batch_size={batch or repr(s.batch)}, clip={clip or repr(s.clip)}"
    if s.friction is not None:
        said += f", friction={s.friction!r}"
    if s.adjacency != "add_remove":
        said += f", adjacency={s.adjacency!r}"
    return said


def _schedule(s: Settings) -> str:
    return f"dpviz.PowerSchedule({s.first!r}, {s.exponent!r}, {s.steps})"


def _marks(s: Settings) -> str:
    return f"x = np.unique(np.round(np.geomspace(1, {s.steps}, {STEP_POINTS})))"


def _cost(found: Answer) -> list[str]:
    s = found.settings
    return [
        f"\n{_marks(s)}",
        f"schedule = {_schedule(s)}",
        f"sampler = dict({_sampler(s)}, delta={s.delta!r})",
        "curves = {",
        "    c: dpviz.langevin_epsilon(schedule, **sampler, conversion=c, marks=x) for c in ('classic', 'improved')",
        "}",
        "# Slower, and as tight as it gets:",
        '# dpviz.langevin_epsilon(schedule, **sampler, method="tight")',
    ]


def _largest(s: Settings, theorem: str, **changed: str) -> str:
    """A call of langevin_step_size with ε left to the caller as `epsilon`."""
    steps, delta = changed.pop("steps", repr(s.steps)), changed.pop("delta", repr(s.delta))
    conversion = "" if theorem == "wang" else f", conversion={s.conversion!r}, refine=False"
    return (
        f"dpviz.langevin_step_size({theorem!r}, epsilon=epsilon, delta={delta}, steps={steps}, "
        f"{_sampler(s, **changed)}{conversion})"
    )


def _epsilon_line(found: Answer, name: str) -> str:
    return f"\n{name} = np.geomspace({float(found.x[0])!r}, {float(found.x[-1])!r}, {EPSILON_POINTS})"


def _epsilon(found: Answer) -> list[str]:
    s = found.settings
    calls = [f"    {theorem!r}: {_largest(s, theorem)}," for theorem in theorems(s)]
    return [_epsilon_line(found, "x = epsilon"), "curves = {", *calls, "}"]


def _size(found: Answer) -> list[str]:
    s = found.settings
    changed = {"n": "n"}
    if s.rule:
        changed |= {"batch": "n**0.5", "steps": "int(n)", "delta": "1 / n"}
    fits = "" if s.rule else f" if n >= {s.batch!r} else np.nan"
    calls = [f"    {t!r}: np.array([{_largest(s, t, **changed)}{fits} for n in x])," for t in theorems(s)]
    return [
        f"\nx = np.unique(np.round(np.geomspace(1e3, 1e6, {SIZE_POINTS})))",
        f"epsilon = {s.claim!r}",
        "curves = {",
        *calls,
        "}",
    ]


def _clip(found: Answer) -> list[str]:
    s = found.settings
    calls = [f"    {t!r}: np.array([{_largest(s, t, clip='clip')} for clip in x])," for t in theorems(s)]
    return [_epsilon_line(found, "x"), f"epsilon = {s.claim!r}", "curves = {", *calls, "}"]


def _conditions(found: Answer) -> list[str]:
    s = found.settings
    return [
        "from dpviz.accounting.langevin import Langevin",
        "from dpviz.accounting.langevin_bounds import step_size_limits",
        f"\n{_marks(s)}",
        f"epsilon = {s.claim!r}",
        f"low, high = step_size_limits(Langevin({_sampler(s)}), {s.reading!r})",
        "curves = {",
        f"    'step': {_schedule(s)}.at(x),",
        "    'first_condition': np.full(x.size, high),",
        "    'second_condition': np.full(x.size, low),",
        f"    'third_condition': {_largest(s, s.theorem)} * x ** -{s.exponent!r},",
        "}",
    ]


def _region(found: Answer) -> list[str]:
    s = found.settings
    largest = _largest(s, s.theorem, batch="tau").replace("epsilon=epsilon", f"epsilon={s.claim!r}")
    return [
        "from dpviz.accounting.langevin import Langevin",
        "from dpviz.accounting.langevin_bounds import step_size_limits",
        f"\nx = np.array({found.x.tolist()!r})  # batches τ",
        f"limits = np.array([step_size_limits(Langevin({_sampler(s, batch='tau')}), {s.reading!r}) for tau in x])",
        f"third = np.array([{largest} for tau in x])",
        "curves = {  # bounds on the first step size, for the conditions to hold at every step",
        "    'first_condition': limits[:, 1],",
        f"    'second_condition': limits[:, 0] * {float(s.steps)!r} ** {s.exponent!r},",
        "    'third_condition': np.where(third > 0, third, np.nan),",
        "}",
    ]


def _error_call(s: Settings, size: str) -> str:
    return (
        f"mse_of_schedule({size}, exponent={s.exponent!r}, steps={s.steps}, n={s.n!r}, batch_size={s.batch!r}, "
        f"gradient_variance={s.variance!r})"
    )


def _mse(found: Answer) -> list[str]:
    x = mse_grid(found.settings, found.largest)
    return [
        "from dpviz.accounting.langevin_mse import mse_of_schedule",
        f"\nx = np.geomspace({float(x[0])!r}, {float(x[-1])!r}, {EPSILON_POINTS})",
        f"curves = {{'mse': {_error_call(found.settings, 'x')}}}",
    ]


def _mse_epsilon(found: Answer) -> list[str]:
    s = found.settings
    named = {"composed": s.theorem} | ({"wang": "wang"} if "wang" in found.curves else {})
    lines = [f"    {name!r}: {_error_call(s, _largest(s, theorem))}," for name, theorem in named.items()]
    extra = []
    if "proposition5" in found.curves:
        extra = [
            "# Proposition 5 as printed: the largest step size without its N and T.",
            f"scale = {_largest(s, s.theorem)} * {s.steps} ** (2 / 3) / {s.n!r}",
            f"curves['proposition5'] = mse_proposition5(scale, steps={s.steps}, n={s.n!r}, batch_size={s.batch!r}, "
            f"gradient_variance={s.variance!r})",
        ]
    return [
        "from dpviz.accounting.langevin_mse import mse_of_schedule, mse_proposition5",
        _epsilon_line(found, "x = epsilon"),
        "curves = {",
        *lines,
        "}",
        *extra,
    ]

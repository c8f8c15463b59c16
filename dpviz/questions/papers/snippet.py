"""What a piece of training code says of its privacy: numbers read from its text, which is never run.

>>> found = read("compute_dp_sgd_privacy(n=60000, batch_size=256, noise_multiplier=1.1, epochs=60, delta=1e-5)")
>>> found.values["kbatch"], found.said[1]
('256', 'batch = 256, from batch_size')
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from dpviz.questions.fields import Field
from dpviz.questions.mechanism import DELTA, SIZE
from dpviz.questions.papers.check_fields import BATCH, CLAIM, EPOCHS, NOISE, SAMPLER

LONGEST = 20_000  # characters
# What Opacus, TensorFlow Privacy and jax_privacy call the quantities, as keywords and as variables.
NAMES: dict[str, Field[float]] = {
    **dict.fromkeys(("n", "num_examples", "number_of_examples", "num_samples", "dataset_size", "sample_size"), SIZE),
    **dict.fromkeys(("batch_size", "expected_batch_size", "lot_size"), BATCH),
    **dict.fromkeys(("noise_multiplier", "noise_multipliers", "sigma"), NOISE),
    **dict.fromkeys(("epochs", "num_epochs", "n_epochs"), EPOCHS),
    **dict.fromkeys(("delta", "target_delta", "dp_delta"), DELTA),
    **dict.fromkeys(("epsilon", "target_epsilon", "dp_epsilon", "claimed_epsilon"), CLAIM),
}
STEPS = ("num_updates", "num_steps", "num_iterations", "max_steps")
# Calls whose arguments may stand without their names.
ORDERED = {
    "compute_dp_sgd_privacy": ("n", "batch_size", "noise_multiplier", "epochs", "delta"),
    "compute_dp_sgd_privacy_statement": ("n", "batch_size", "epochs", "noise_multiplier", "delta"),
    "get_epsilon": ("delta",),
}


@dataclass
class Understood:
    """What was read.

    Attributes:
        values: keys of fields → texts.
        said: each in words, in the order of the fields; then what was not understood.
    """

    values: dict[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)


def read(text: str) -> Understood:
    """The settings that a piece of Python names.

    Raises:
        ValueError: it is too long, or no Python, or says nothing of these settings.
    """
    if len(text) > LONGEST:
        raise ValueError(f"This text has {len(text):,} characters; paste at most {LONGEST:,}, the part that matters.")
    lines = ("" if line.lstrip().startswith(("%", "!")) else line for line in text.splitlines())  # a notebook's own
    try:
        tree = ast.parse("\n".join(lines))
        found = _numbers(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        where = f" in line {problem.lineno}" if isinstance(problem, SyntaxError) else ""
        raise ValueError(f"This is no Python that can be read{where}: paste whole lines of code.") from None
    understood = Understood()
    epochs_from_steps(found)
    for one in (SIZE, BATCH, NOISE, EPOCHS, DELTA, CLAIM):
        for name, value in found.items():
            if NAMES.get(name) is one:
                _take(understood, one, name, value)
                break
    _sampler(understood, tree)
    if not understood.values:
        raise ValueError(
            "No number of a private training was found here. Understood are names such as batch_size, "
            "noise_multiplier, epochs and delta, as keywords or variables with plain numbers."
        )
    return understood


def epochs_from_steps(found: dict[str, float]) -> None:
    """Epochs from a number of steps, where batch and N are there too."""
    names = {one: name for name in found if (one := NAMES.get(name)) is not None}
    steps = next((found[name] for name in STEPS if name in found), None)
    if steps is not None and EPOCHS not in names and SIZE in names and BATCH in names and found[names[SIZE]] > 0:
        found["epochs"] = steps * found[names[BATCH]] / found[names[SIZE]]


def _take(understood: Understood, one: Field[float], name: str, value: float) -> None:
    try:
        legal = one.accept(value)
    except ValueError as problem:
        understood.said.append(f"left out, {name}: {problem}")
        return
    understood.values[one.key] = one.write(legal)
    understood.said.append(f"{one.symbol or one.label} = {one.show(legal)}, from {name}")


def _sampler(understood: Understood, tree: ast.AST) -> None:
    """Poisson sampling where a call says so, or is Opacus's, whose default it is; shuffled where it is off."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        told = {word.arg: word.value for word in call.keywords}
        choice = told.get("poisson_sampling")
        if isinstance(choice, ast.Constant) and isinstance(choice.value, bool):
            understood.values[SAMPLER.key] = "poisson" if choice.value else "shuffled"
            understood.said.append(f"batches: {'Poisson' if choice.value else 'shuffled'}, from poisson_sampling")
            return
        if _called(call).startswith("make_private"):
            understood.values[SAMPLER.key] = "poisson"
            understood.said.append(f"batches: Poisson, the default of {_called(call)}")
            return
    if understood.values:
        understood.values[SAMPLER.key] = "unsaid"
        understood.said.append("batches: not said")


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _numbers(tree: ast.AST) -> dict[str, float]:
    """Plain numbers by the names they are given; a keyword of a call counts for more than a variable."""
    variables: dict[str, float] = {}
    keywords: dict[str, float] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            value = _number(node.value, variables)
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name) and value is not None:
                    variables[target.id] = value
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            named = [(word.arg, word.value) for word in node.keywords if word.arg]
            named += zip(ORDERED.get(_called(node), ()), node.args, strict=False)
            for name, argument in named:
                value = _number(argument, variables)
                if value is not None:
                    keywords.setdefault(name.lower(), value)
    return keywords | {name.lower(): value for name, value in variables.items() if name.lower() not in keywords}


def _number(node: ast.expr, known: dict[str, float]) -> float | None:
    """A number, a known variable, or one operation on such; None for all else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return float(node.value) if abs(node.value) < 1e300 else None
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _number(node.operand, known)
        return None if value is None else -value
    if isinstance(node, ast.BinOp):
        return _operation(node.op, _number(node.left, known), _number(node.right, known))
    return None


def _operation(op: ast.operator, left: float | None, right: float | None) -> float | None:
    if left is None or right is None:
        return None
    try:
        if isinstance(op, ast.Mult):
            return left * right
        if isinstance(op, ast.Div):
            return left / right
        if isinstance(op, ast.FloorDiv):
            return left // right
        if isinstance(op, ast.Add):
            return left + right
        if isinstance(op, ast.Sub):
            return left - right
        if isinstance(op, ast.Pow):
            return float(left) ** right if left > 0.0 else None
    except (ZeroDivisionError, OverflowError):
        return None
    return None

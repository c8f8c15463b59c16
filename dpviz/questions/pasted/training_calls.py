"""Calls that train, by their names: steps, whole trainings, engines that make one private, and what trains nothing."""

import ast
import re

from dpviz.questions.pasted.bindings import Bindings
from dpviz.questions.pasted.names import name_of

ENGINE = re.compile(
    r"^make_private|^(vectorized)?dp\w*optimizer\w*$|differentially_private_aggregate|^original_optimizer$"
)
TRAINS = re.compile(r"^(fit|step|minimize|apply_gradients|train\w*)$")
TRAINS_NOT = re.compile(r"split|loader|data|set|transform|test|eval")
STEPS_TAKEN = re.compile(r"^(step|minimize|apply_gradients|train_on_batch)$")  # an optimiser's or an accountant's
DRAWS = re.compile(r"^(next|get_next|(next|get|draw|sample)_(mini_?)?batch(es)?)$")
HARMLESS = re.compile(  # calls that train nothing
    r"^(print|log\w*|info|debug|warning|write\w*|append|extend|range|len|str|int|float|format|sum|max|min|round|sorted|list"
    r"|dict|zip|enumerate|t?range|tqdm|iter|plot\w*|show|savefig|seed|manual_seed|item|join|zero_grad|clear|copy|eval"
    r"|to|cuda|cpu|device|time|perf_counter|get_epsilon|save|set_description|set_postfix|update_progress)$"
)
TESTS = re.compile("test|val")
LOADED = re.compile(r"load|data|batches|train(_?(set|ds|iter))?$")
DISPLAYS = ("iter", "enumerate", "tqdm", "len", "zip")  # they take data and train nothing


def may_take_steps(node: ast.AST) -> bool:
    """Whether it is a call that may take steps: by its name, or because it is given data to go through."""
    if not isinstance(node, ast.Call) or of_scheduler(node) or switches_mode(node):
        return False
    name = name_of(node)
    if DRAWS.search(name) or TESTS.search(name) or TRAINS_NOT.search(name):
        return False
    given = [name_of(argument) for argument in node.args]
    takes_data = name not in DISPLAYS and any(LOADED.search(one) and not TESTS.search(one) for one in given)
    return bool(TRAINS.search(name)) or takes_data


def may_train(call: ast.Call) -> bool:
    """Whether a call is none of those that surely train nothing."""
    return not HARMLESS.search(name_of(call)) and not switches_mode(call)


def trains(call: ast.Call) -> bool:
    """Whether a call trains, or makes a training private."""
    name = name_of(call)
    steps = re.search("^(fit|backward)$", name) or STEPS_TAKEN.search(name)
    return bool(ENGINE.search(name)) or (bool(steps) and not (of_scheduler(call) or of_accountant(call)))


def lines_that_train(bindings: Bindings) -> tuple[int, ...]:
    """Lines of calls that train, or make a training private."""
    return tuple(call.lineno for calls in bindings.calls.values() for call in calls if trains(call))


def calls_of(bindings: Bindings, names: re.Pattern[str]) -> list[ast.Call]:
    """All calls by such names."""
    return [call for name, calls in bindings.calls.items() if names.search(name) for call in calls]


def switches_mode(call: ast.Call) -> bool:
    """Whether it is a model's own `train()`, which only switches its mode."""
    return isinstance(call.func, ast.Attribute) and name_of(call) in ("train", "eval") and not call.args


def of_scheduler(call: ast.Call) -> bool:
    """Whether it is the step of a learning rate's schedule."""
    return isinstance(call.func, ast.Attribute) and "sched" in ast.unparse(call.func.value).lower()


def of_accountant(call: ast.Call) -> bool:
    """Whether it is an accountant's step."""
    return any(word.arg in ("noise_multiplier", "sample_rate") for word in call.keywords)

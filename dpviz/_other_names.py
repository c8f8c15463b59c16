"""What other libraries and papers call the arguments of this one: a call that uses such a name is told the right one.

>>> right_name("sigma", {"noise_multiplier", "steps"})
'noise_multiplier'
>>> right_name("epsilon", {"target_epsilon", "delta"})
'target_epsilon'
>>> right_name("sigma", {"scale"})
''
"""

import inspect
from collections.abc import Callable, Container
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

# Each name of a quantity stands for the others of its line; calls know one of them, or none.
_QUANTITIES = (
    ("noise_multiplier", "sigma", "noise", "noise_scale", "σ"),
    ("sample_rate", "q", "sampling_rate", "sampling_probability", "sampling_prob", "rate"),
    ("steps", "T", "num_steps", "n_steps", "iterations", "num_iterations"),
    ("target_epsilon", "epsilon", "eps", "target_eps", "ε"),
    ("delta", "target_delta", "δ"),
    ("max_grad_norm", "clip", "clipping_norm", "l2_norm_clip", "C"),
    ("method", "accountant"),
    ("size", "n", "N", "examples", "sample_size", "dataset_size"),
    ("batch_size", "batch", "B"),
)


def right_name(name: str, names: Container[str]) -> str:
    """What the quantity called `name` is called among `names`; empty if none of them means it."""
    same = next((quantity for quantity in _QUANTITIES if name in quantity), ())
    return next((other for other in same if other != name and other in names), "")


def says_right_names(*more: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function that, given an argument under another library's name, says what it is called here.

    Args:
        more: names that the function takes beside those of its signature.

    Raises:
        ValueError: from the function, with the right name.
    """

    def of(function: Callable[P, R]) -> Callable[P, R]:
        names = {*inspect.signature(function).parameters, *more}

        @wraps(function)
        def named(*args: P.args, **kwargs: P.kwargs) -> R:
            for name, value in kwargs.items():
                if name not in names and (right := right_name(name, names)):
                    raise ValueError(f"Expected {name}={value!r:.40} to be called {right}.")
            return function(*args, **kwargs)

        return named

    return of

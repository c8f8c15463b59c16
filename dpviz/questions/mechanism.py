"""The mechanism's settings, shared by every page that has one."""

from dpviz.fields import number, numbers
from dpviz.questions.words import setting
from dpviz.training import covered

SIGMA = number("sigma")
RATE = number("q")
SIZE = number("n")
STEPS = number("steps")
DELTA = number("delta")
FIELDS = (SIGMA, RATE, SIZE, STEPS, DELTA)

# For the assumptions of every page where q may be given as batch ÷ N.
PUBLIC_SIZE = f"- {covered.PUBLIC_SIZE}\n"

SETTINGS = {"noise_multiplier": SIGMA, "sample_rate": RATE, "steps": STEPS, "delta": DELTA}


def shown_delta(delta: float) -> str:
    """ "δ = 1e-5" in a headline: a hand pulls it there, or types over it."""
    return setting(DELTA, "δ =", numbers.delta(delta))


def shown_steps(steps: float) -> str:
    """ "10 000 steps" in a headline: a hand pulls the number there, or types over it."""
    return f"<b>{setting(STEPS, numbers.steps(steps))}</b> step{'s' * (steps != 1)}"


def in_words(sigma: float, rate: float, steps: float, delta: float) -> str:
    """The setting in one line."""
    return (
        f"σ = {numbers.plain(sigma)}, q = {numbers.plain(rate, digits=4)}, "
        f"T = {numbers.steps(steps)}, δ = {numbers.delta(delta)}"
    )

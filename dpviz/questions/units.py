"""A data set's size N, an expected batch and epochs as a person's units for q and T, which follow from them.

q and T are what is kept, linked and computed with. Batch and epochs are readings of them: whoever enters one of the
three keeps the other two, and so moves q, T or both; nothing else ever does. Entered epochs are linked too where T,
rounded up to whole steps, would be read as another number.
"""

from collections.abc import Collection

from dpviz.fields import AnyField, Number, choice, expression, number, numbers
from dpviz.fields.expression import steps_of
from dpviz.questions.layout import FieldControl, Item, Reader
from dpviz.questions.mechanism import DELTA, RATE, SIGMA, SIZE, STEPS

UNITS = choice("units")
BATCH = number("batch")
EPOCHS = number("epochs")

# What batch and epochs are made of; and the keys of all numbers that are linked so.
BEHIND = (SIZE, RATE, STEPS)
LINKED = {one.key for one in (*BEHIND, BATCH, EPOCHS)}


def readings(fields: Collection[AnyField]) -> dict[Number, tuple[Number, ...]]:
    """The other readings that there are of q and T, where those are among `fields`, each with what it moves."""
    others: dict[Number, tuple[Number, ...]] = {BATCH: (RATE, STEPS), EPOCHS: (STEPS, EPOCHS)}
    return {one: moved for one, moved in others.items() if RATE in fields and (one is BATCH or STEPS in fields)}


def sets(field: Number, value: float, get: Reader) -> dict[Number, float]:
    """What entering `value` for `field` sets.

    Raises:
        ValueError: no q or T goes with it.
    """
    if field.key == BATCH.key:
        return _batched(value, get(SIZE), get)
    if field.key == EPOCHS.key:
        return _lasting(value, get(RATE), BATCH)
    if field == SIZE and get(UNITS) == "person":  # where q is batch ÷ N, and not a page's own N
        return {SIZE: value, **_batched(batch(get), value, get)}
    if field.key in (RATE.key, STEPS.key):
        return {field: value, EPOCHS: EPOCHS.default}  # the epochs entered before are of no interest any more
    return {field: value}


def batch(get: Reader) -> float:
    """q·N without binary dust: 256 comes back as 256."""
    return float(f"{get(RATE) * get(SIZE):.12g}")


def epochs(get: Reader) -> float:
    """q·T; where T was rounded up, the epochs that were entered, or the roundest number that makes this T."""
    return _reading(get(EPOCHS), get(RATE), get(STEPS))


def _reading(entered: float, rate: float, steps: float) -> float:
    exact = float(f"{rate * steps:.12g}")
    if not rate:
        return exact
    rounded = (float(f"{rate * steps:.{digits}g}") for digits in range(1, 18))
    short = (exact,) if float(f"{exact:.4g}") == exact else ()
    return next((value for value in (entered, *short, *rounded) if steps_of(value, rate) == steps), exact)


def known(field: Number, size: Number | None, get: Reader) -> dict[str, float | None]:
    """What may be said in a field's text: N, where there is a field of it, and epochs."""
    size = SIZE if field in (RATE, STEPS, BATCH) else size
    return {expression.SIZE: None if size is None else get(size), expression.EPOCHS: get(RATE) or None}


def made(get: Reader, *, with_steps: bool) -> str:
    """What batch and epochs make of q and T, in words: "q = 0.01, T = 1 000 steps"."""
    rate, steps = get(RATE), get(STEPS)
    words = f"q = {numbers.plain(rate, digits=4)}"
    if not with_steps:
        return words
    lasting = epochs(get)
    up = rate and steps_of(lasting, rate) > float(f"{lasting / rate:.12g}")
    rounded = f" = {numbers.plain(rate * steps, digits=6)} epochs, rounded up" if up else ""
    return f"{words}, T = {numbers.steps(steps)} step{'s' * (steps != 1)}{rounded}"


def captions(get: Reader, *, with_steps: bool) -> dict[str, str]:
    """What stands below q, T, batch and epochs, by their keys: the same in the other units."""
    lasting = epochs(get)
    captions = {RATE.key: f"{_counted(batch(get))} of {numbers.steps(get(SIZE))}"}
    captions[(EPOCHS if with_steps else BATCH).key] = made(get, with_steps=with_steps)
    if with_steps:
        captions[STEPS.key] = f"{_counted(lasting)} epoch{'' if lasting == 1 else 's'}"
    return captions


def _counted(value: float) -> str:
    return numbers.steps(value) if value.is_integer() else numbers.plain(value, digits=4)


def rate_of(batch: float, size: float) -> float:
    """q that makes this expected batch.

    Raises:
        ValueError: it is more than N, or less than any q makes.
    """
    if batch > size:
        raise ValueError(
            f"Batch: {batch:.12g} is more than the data set's {size:.0f}; try {size / 100:.12g}, or a larger N."
        )
    return RATE.check(batch / size)


def _batched(batch: float, size: float, get: Reader) -> dict[Number, float]:
    rate = rate_of(batch, size)
    lasting = _lasting(epochs(get), rate, EPOCHS) if rate and get(RATE) else {}  # q = 0: no T makes epochs
    return {RATE: rate, **lasting}


def _lasting(epochs: float, rate: float, mended: Number) -> dict[Number, float]:
    """T that makes so many epochs, and they where q and T alone would be read otherwise."""
    steps = steps_of(epochs, rate) if rate else float("inf")
    if steps > STEPS.high:
        why = f"are {steps:.3g} steps, more than {STEPS.high:.0e}" if rate else "never come with an empty batch"
        raise ValueError(f"Epochs: {epochs:.12g} {why}; change the {mended.label.lower()}.")
    unsaid = _reading(EPOCHS.default, rate, steps) == epochs  # q and T alone say it
    return {STEPS: steps, EPOCHS: EPOCHS.default if unsaid else epochs}


# --- controls ---------------------------------------------------------------------------------------------------------


def in_units(*fields: Number) -> FieldControl:
    """q and T, or one of them, as a person knows them (N, batch, epochs) or as they are; N is among `fields`."""
    return FieldControl(fields, drawn_as=UNITS.key)


ALL = in_units(SIZE, RATE, STEPS)


def controls(get: Reader, unknown: str = "") -> tuple[Item, ...]:
    """σ, q and T in either units, and δ beside N; without the `unknown` one, which is looked for."""
    if unknown == "sample_rate":  # nor is N of any use then
        return SIGMA, STEPS, DELTA
    noise = () if unknown == "noise_multiplier" else (SIGMA,)
    mechanism = in_units(SIZE, RATE) if unknown == "steps" else ALL
    return *noise, mechanism, *(() if unknown == "delta" else (suggested(SIZE, get),))


def suggested(size: Number, get: Reader) -> FieldControl:
    """δ with choices made of the size of the data set."""
    n, delta = get(size), get(DELTA)
    choices = {"1/N": 1 / n, "1/(10 N)": 1 / (10 * n), "1/N^1.1": n**-1.1}
    why = "Choose δ well below 1/N: publishing the record of one random person satisfies (0, 1/N)-DP."
    note = ""
    if delta > 1 / n:
        note = (
            f"δ is above 1/N = {numbers.delta(1 / n)}: publishing the record of one random person would satisfy "
            "it. Choose a much smaller value."
        )
    offers = {name: DELTA.write(value) for name, value in choices.items() if value < 1}
    return FieldControl((DELTA,), warning=note, caption=why, choices=offers, size=size)

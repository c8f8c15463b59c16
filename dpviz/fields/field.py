"""The settings of all pages as values: what each is called, may be, starts at, and how it is read and written.

A field is read from three places (a slider, a typed text, the URL) through one `parse`, so a bad value gets the same
message everywhere: what was found, why it does not work, what would. Only a typed text may follow other conventions.
"""

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, SupportsFloat, TypeVar

from dpviz.accounting.methods import ALIASES, FAMILIES
from dpviz.fields import expression, numbers

V = TypeVar("V")

# The least δ, far below any that is used; its logarithm and its square are still numbers.
LEAST_DELTA = 1e-100

_NOTHING: Mapping[str, float | None] = {}


@dataclass(frozen=True)
class Field(Generic[V]):
    """One setting.

    Attributes:
        key: its name in the URL and in the session.
        label: what the page calls it.
        default: where it starts.
        help: what the quantity is, its unit and a usual value.
        symbol: how a pinned state names it when it differs ("σ"); the label where empty.
        entry: the name of its entry: of one that declares a setting of all pages anew for one page, not the key.
    """

    key: str
    label: str
    default: V
    help: str = ""
    symbol: str = ""
    entry: str = ""

    def parse(self, text: str) -> V:
        """The value that `text` writes; ValueError says what is wrong and what would do."""
        raise NotImplementedError

    def write(self, value: V) -> str:
        """`value` as text that `parse` reads back exactly."""
        raise NotImplementedError

    def show(self, value: V) -> str:
        """`value` for the eye."""
        return self.write(value)

    def accept(self, value: object) -> V:
        """`value` from Python, or as text; ValueError says what is wrong and what would do."""
        if not isinstance(value, str):
            raise ValueError(f"{self.label}: {value!r:.40} is not a text.")
        return self.parse(value)

    def nearest(self, text: str) -> V:
        """The legal value nearest to what `text` writes, for links that say too much; the default for nonsense."""
        try:
            return self.parse(text)
        except ValueError:
            return self.default


AnyField = Field[Any]  # a setting of any type


@dataclass(frozen=True)
class Number(Field[float]):
    """A number with a slider for feel and a text field for exactness.

    Attributes:
        low, high: the legal range, ends that mean something; a slider may cover less of it.
        open_high: whether that end itself is refused.
        or_zero: whether 0 is legal too, though it lies below `low`.
        whole: whether only whole numbers will do.
        ticks: the slider's stops, increasing.
        ends: plain words at the slider's two ends.
        example: what would do, for messages.
        names: what its text may be told in beside numbers: `expression.SIZE`, `expression.EPOCHS`.
        top: the word for a choice beyond the largest number ("best"), empty for none; here infinite, None in a call.
    """

    low: float = -math.inf
    high: float = math.inf
    open_high: bool = False
    or_zero: bool = False
    whole: bool = False
    ticks: tuple[float, ...] = ()
    ends: tuple[str, str] = ("", "")
    example: str = ""
    names: tuple[str, ...] = ()
    top: str = ""

    def __post_init__(self) -> None:
        if self.ticks and self.default not in self.ticks:  # a slider stands exactly where its field starts
            object.__setattr__(self, "ticks", tuple(sorted((*self.ticks, self.default))))

    @cached_property
    def stops(self) -> tuple[str, ...]:
        """The slider's stops as texts."""
        return tuple(map(self.write, self.ticks))

    def parse(self, text: str, known: Mapping[str, float | None] = _NOTHING) -> float:
        """The value that `text` writes; `known` has what its names stand for."""
        return self.check(self._read(text, known))

    def typed(self, text: str, known: Mapping[str, float | None] = _NOTHING) -> float:
        """The value of what a person typed, with a decimal comma and thousands separators too.

        Of two readings ("1.000") the legal one is taken, or the only one on the slider; otherwise it has to be asked.
        """
        possible = expression.readings(text)
        values: dict[float, str] = {}
        for plain in possible:
            with suppress(ValueError):
                values.setdefault(self.parse(plain, known), plain)
        on_slider = [value for value in values if self.ticks and self.ticks[0] <= value <= self.ticks[-1]]
        if len(on_slider) == 1:
            return on_slider[0]
        if len(values) > 1:
            first, second = values.values()
            raise ValueError(
                f"{self.label}: “{text}” may mean {numbers.plain(min(values), digits=9)} or "
                f"{numbers.plain(max(values), digits=9)}; type {first} or {second}."
            )
        return next(iter(values)) if values else self.parse(possible[0] if possible else text, known)

    def _read(self, text: str, known: Mapping[str, float | None] = _NOTHING) -> float:
        if self.top and text.strip().lower() == self.top:
            return math.inf
        shown = text if len(text) <= 40 else text[:40] + "…"
        try:
            return expression.value(text, {name: known.get(name) for name in self.names})
        except ZeroDivisionError:
            raise ValueError(f"{self.label}: “{shown}” divides by zero; try {self.example}.") from None
        except expression.Lacking as lacking:
            raise ValueError(
                f"{self.label}: “{shown}” needs {lacking}, which is not known here; try {self.example}."
            ) from None
        except ValueError:
            raise ValueError(f"{self.label}: “{shown}” is not a number; try {self.example}.") from None

    def check(self, value: float) -> float:
        """`value` itself if it is legal; the range's ends are said in words otherwise."""
        if math.isnan(value):
            raise ValueError(f"{self.label}: NaN is not a number; try {self.example}.")
        if self.top and value == math.inf:
            return value
        too_low = value < self.low and not (self.or_zero and value == 0.0)
        too_high = value > self.high or (self.open_high and value == self.high)
        if too_low or too_high or math.isinf(value):
            raise ValueError(f"{self.label} must be {self.legal}, not {value:.12g}; try {self.example}.")
        if self.whole and value != math.floor(value):
            raise ValueError(f"{self.label}: {value:.12g} is not a whole number; try {math.floor(value) or 1:.0f}.")
        return float(value) + 0.0  # −0 becomes 0

    @property
    def legal(self) -> str:
        """The legal range in words."""
        low, high = numbers.entered(self.low), numbers.entered(self.high)
        if math.isinf(self.high):
            words = f"at least {low}"
        elif self.open_high:
            words = f"at least {low} and below {high}"
        else:
            words = f"between {low} and {high}"
        return ("0, or " if self.or_zero else "") + words + (f", or {self.top}" if self.top else "")

    def accept(self, value: object) -> float:
        if isinstance(value, str):
            return self.parse(value)
        if value is None and self.top:
            return math.inf
        with suppress(TypeError):
            if isinstance(value, SupportsFloat):
                return self.check(float(value))
        raise ValueError(f"{self.label}: {value!r:.40} is not a number; try {self.example}.")

    def write(self, value: float | None) -> str:
        if self.top and (value is None or value == math.inf):
            return self.top
        assert value is not None
        if self.whole:
            return f"{value:.0f}"
        return repr(float(value)).removesuffix(".0").replace("e-0", "e-")

    def show(self, value: float) -> str:
        """`value` for the eye, on the slider's thumb."""
        if self.top and value == math.inf:
            return self.top
        if self.whole:
            return numbers.steps(value)
        if 0 < abs(value) < 0.001:
            return numbers.delta(value, up=False)
        return numbers.plain(value, digits=6 if 0.99 < value < 1.0 else 3)

    def nearest(self, text: str) -> float:
        try:
            value = self._read(text)
        except ValueError:
            return self.default
        if math.isnan(value):
            return self.default
        if self.whole and math.isfinite(value):
            value = float(math.floor(value))
        # An open end itself is not legal, nor is an end at infinity: the nearest slider stop stands in for it.
        low = self.low if math.isfinite(self.low) else min(self.ticks, default=self.default)
        low = 0.0 if self.or_zero and value <= 0.0 else low
        high = self.high if not self.open_high and math.isfinite(self.high) else max(self.ticks, default=self.default)
        try:
            return self.check(value)
        except ValueError:
            return low if value <= self.low else high


@dataclass(frozen=True)
class Choice(Field[str]):
    """One of a few named options: `options` maps each value to what the page calls it.

    `tall`: a drop-down list instead of segments side by side. `means`: what a call gets for an option, where that is
    not its name.
    """

    options: Mapping[str, str] = field(default_factory=dict)
    tall: bool = False
    means: Mapping[str, Any] = field(default_factory=dict)

    def parse(self, text: str) -> str:
        option = _option(text, self.options)
        if option is None:
            raise ValueError(f"{self.label}: “{text[:40]}” is not one of {_listed(self.options)}.")
        return option

    def accept(self, value: object) -> str:
        """Options that write a number may be named by it, and those that mean something by that."""
        meant = (option for option, value_ in self.means.items() if type(value_) is type(value) and value_ == value)
        value = next(meant, value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = next((option for option in self.options if _number(option) == value), value)
        return self.parse(str(value))

    def write(self, value: str) -> str:
        return value

    def show(self, value: str) -> str:
        return self.options[value]


@dataclass(frozen=True)
class Several(Field[tuple[str, ...]]):
    """Any number of named options, written with dots between them."""

    options: Mapping[str, str] = field(default_factory=dict)

    def parse(self, text: str) -> tuple[str, ...]:
        names = {part: _option(part, self.options) for part in text.split(".") if part}
        for part, option in names.items():
            if option is None:
                raise ValueError(f"{self.label}: “{part[:40]}” is not one of {_listed(self.options)}.")
        return tuple(key for key in self.options if key in names.values())

    def accept(self, value: object) -> tuple[str, ...]:
        if isinstance(value, str):
            return self.parse(value)
        with suppress(TypeError):
            if isinstance(value, Iterable):
                return self.parse(".".join(value))
        raise ValueError(f"{self.label}: {value!r:.40} is not a list of {_listed(self.options)}.")

    def write(self, value: tuple[str, ...]) -> str:
        return ".".join(value)

    def show(self, value: tuple[str, ...]) -> str:
        return ", ".join(self.options[key] for key in value) or "none"

    def nearest(self, text: str) -> tuple[str, ...]:
        """Those that exist; the default where nothing of `text` does."""
        names = {_option(part, self.options) for part in text.split(".")}
        existing = tuple(key for key in self.options if key in names)
        return existing if existing or not text.strip(".") else self.default


@dataclass(frozen=True)
class Flag(Field[bool]):
    """Yes or no, written as 1 and 0."""

    def parse(self, text: str) -> bool:
        if text not in ("0", "1"):
            raise ValueError(f"{self.label}: “{text[:40]}” is neither 0 nor 1.")
        return text == "1"

    def accept(self, value: object) -> bool:
        return value if isinstance(value, bool) else self.parse(str(value))

    def write(self, value: bool) -> str:
        return "1" if value else "0"

    def show(self, value: bool) -> str:
        return "on" if value else "off"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _option(text: str, options: Mapping[str, str]) -> str | None:
    """The option called `text`: by its own name, or by a name of the accountant whose curve or answer it is."""
    method = ALIASES.get(text, text)
    return next((name for name in (text, method, FAMILIES.get(method)) if name in options), None)


def _listed(options: Mapping[str, str]) -> str:
    return ", ".join(key for key in options if key)


def log_ticks(low: float, high: float, per_decade: int = 10) -> tuple[float, ...]:
    """Slider stops that are even on a log scale, rounded to two digits and without repetition.

    Where they are close together, the round numbers 1 … 9 of every decade are among them: people ask for those.
    """
    count = round(per_decade * math.log10(high / low)) + 1
    raw = [low * (high / low) ** (i / (count - 1)) for i in range(count)]
    if per_decade >= 12:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        raw += [value for n in decades for k in range(1, 10) if low <= (value := float(f"{k}e{n}")) <= high]
    return tuple(sorted({float(f"{value:.2g}") for value in raw}))


def even_ticks(low: float, high: float, step: float) -> tuple[float, ...]:
    """Slider stops that are even on a plain scale, free of binary dust."""
    return tuple(round(low + i * step, 12) for i in range(round((high - low) / step) + 1))


@dataclass(frozen=True)
class Text(Field[str]):
    """One line of free text; what is longer than `longest` characters is cut, and what does not print is left out."""

    longest: int = 100

    def parse(self, text: str) -> str:
        printed = "".join(character for character in " ".join(text.split()) if character.isprintable())
        return printed[: self.longest].strip()

    def write(self, value: str) -> str:
        return value

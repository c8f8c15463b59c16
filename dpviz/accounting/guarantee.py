"""The guarantee card: all that a paper, a registry or an auditor must be told of one guarantee, as one value.

    >>> card = guarantee(noise_multiplier=1.1, sample_rate=256 / 60_000, steps=14_062, delta=1e-5, size=60_000,
    ...                  sampler="shuffled", answers={"clipping": "yes"})
    >>> f"{card.losses.epsilon:.3f}", card.replies["sampler"].answer, card.replies["noise"].answer
    ('2.385', 'no', 'not known')
    >>> list(card.registry())[:3]
    ['deployment', 'release', 'dp_flavor']

What follows from the numbers is answered from them; the rest only a person can answer, and is “not known” until then.
Groups and names are those of the registry of deployments (Nanayakkara, Ghazi, Vadhan 2025), pitfalls are after
Ponomareva et al. 2023 and NIST SP 800-226.
"""

import json
import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, Unpack

from dpviz import _validate
from dpviz._remember import remembered
from dpviz._version import __version__
from dpviz.accounting.attack.best_accuracy import best_accuracy
from dpviz.accounting.attack.trade_off import gaussian_mu
from dpviz.accounting.claims import rounded_down, rounded_up
from dpviz.accounting.methods import AnyStep, Renyi, Tight, one_mechanism
from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.accounting.tuning import Search, tuned_epsilon
from dpviz.mechanisms import Event, Mechanism, SampledGaussian

TEXTS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
GROUPS: Mapping[str, str] = TEXTS["groups"]
ENTRIES: Mapping[str, Mapping[str, str]] = TEXTS["entries"]
PITFALLS: Mapping[str, Mapping[str, str]] = TEXTS["pitfalls"]
SAMPLERS: Mapping[str, str] = TEXTS["samplers"]
YES, NO, UNKNOWN = ANSWERS = ("yes", "no", "not known")
Law = Literal["geometric", "negative_binomial", "poisson"]
DIGITS = 6  # of a number, in texts and in JSON
PROFILE = tuple(10.0 ** (-quarter / 4) for quarter in range(8, 41))  # δ of the points of a profile, beside its own


class Reply(NamedTuple):
    """The answer to a pitfall, one of ANSWERS, and what shows it."""

    answer: str = UNKNOWN
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Losses:
    """The numbers of the privacy loss; None for what is not known.

    Attributes:
        epsilon: ε at δ, an upper bound; inf where there is no finite one.
        delta: δ.
        epsilon_lower: what the true ε is not below.
        epsilon_published: what its publisher states.
        rho: ρ of zero-concentrated DP.
        mu, mu_regret: of Gaussian DP (`gaussian_mu`).
        attack_accuracy: how often the best guess of membership can be right, at even odds.
        profile: points (ε, δ) of the privacy curve, ε an upper bound and rising.
        why: why there is no ε.
    """

    epsilon: float | None = None
    delta: float | None = None
    epsilon_lower: float | None = None
    epsilon_published: float | None = None
    rho: float | None = None
    mu: float | None = None
    mu_regret: float | None = None
    attack_accuracy: float | None = None
    profile: tuple[tuple[float, float], ...] = ()
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """One guarantee card; every entry and pitfall that nobody answers is “not known”.

    Attributes:
        losses: the numbers.
        statements: group → entry → text, as in ENTRIES.
        replies: pitfall → reply, as in PITFALLS.

    Raises:
        ValueError: for an entry, a pitfall or an answer that does not exist, or a number that none can be.
    """

    losses: Losses
    statements: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    replies: Mapping[str, Reply] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in TEXTS["losses"]:
            value = getattr(self.losses, name)
            if value is not None and not value >= 0.0:
                raise ValueError(f"Expected {name}={value} >= 0, or None where it is not known.")
        _among("group", self.statements, GROUPS)
        _among("pitfall", self.replies, PITFALLS)
        for group, entries in self.statements.items():
            _among(f"entry of {group}", entries, ENTRIES[group])
        for name, reply in self.replies.items():
            _validate.choice(f"the answer to {name!r}", reply.answer, ANSWERS)
        whole = {group: {name: self.statements.get(group, {}).get(name) or UNKNOWN for name in ENTRIES[group]}
                 for group in GROUPS}  # fmt: skip
        object.__setattr__(self, "statements", whole)
        object.__setattr__(self, "replies", {name: self.replies.get(name, Reply()) for name in PITFALLS})

    def count(self, answer: str) -> int:
        """How many pitfalls have this answer."""
        return sum(reply.answer == answer for reply in self.replies.values())

    @property
    def headline(self) -> str:
        """ε, δ and the unit in a sentence of plain text."""
        unit = f"for {self.statements['privacy_loss']['privacy_unit']}"
        if self.losses.epsilon is None or math.isinf(self.losses.epsilon):
            return f"No ε {unit}: {self.losses.why or 'no finite one is proven'}"
        return f"ε {self.loss('epsilon')} at δ = {self.loss('delta')}, {unit}"

    def loss(self, name: str) -> str:
        """A number of the privacy loss as text, rounded to the side on which a bound stays one."""
        value, words = getattr(self.losses, name), TEXTS["losses"][name]
        if value is None:
            return UNKNOWN
        if math.isinf(value):
            return f"none: {self.losses.why or 'no finite one is proven'}"
        return str(words["text"].format(_short(_rounded(value, words))))

    def tables(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Each group's title, and its entries by their names."""
        for group, title in GROUPS.items():
            table = {ENTRIES[group][name]: text for name, text in self.statements[group].items()}
            if group == "privacy_loss":
                table |= {words["name"]: self.loss(name) for name, words in TEXTS["losses"].items()}
            yield title, table

    def points(self) -> list[tuple[str, str]]:
        """(δ, ε at most) of the profile as texts, at whole powers of ten and the card's δ."""
        rows = [(e, d) for e, d in self.losses.profile if d == self.losses.delta or d in PROFILE[::4]]
        return [(_short(delta), _short(rounded_up(epsilon, DIGITS))) for epsilon, delta in rows]

    def asked(self) -> list[tuple[str, str, str]]:
        """Question, answer and what shows it, of each pitfall."""
        return [(PITFALLS[name]["question"], *reply) for name, reply in self.replies.items()]

    def registry(self) -> dict[str, dict[str, Any]]:
        """JSON values by the groups of the registry of deployments; numbers that are bounds stay bounds."""
        groups: dict[str, dict[str, Any]] = {name: dict(entries) for name, entries in self.statements.items()}
        groups["privacy_loss"] |= {
            "privacy_parameters": {name: self._number(name) for name in TEXTS["losses"]},
            "profile": [{"epsilon": rounded_up(e, DIGITS), "delta": d} for e, d in self.losses.profile] or UNKNOWN,
        }
        groups["implementation"]["pitfalls"] = {
            name: {"question": PITFALLS[name]["question"]} | reply._asdict() for name, reply in self.replies.items()
        }
        return groups

    def _number(self, name: str) -> float | str:
        value = getattr(self.losses, name)
        return self.loss(name) if value is None or math.isinf(value) else _rounded(value, TEXTS["losses"][name])

    def json(self) -> str:
        """`registry` as a text."""
        return json.dumps(self.registry(), ensure_ascii=False, indent=2, allow_nan=False)

    def markdown(self) -> str:
        """The whole card as Markdown, which prints."""
        parts = [f"# Guarantee card: {_flat(self.statements['deployment']['name'])}", f"**{_flat(self.headline)}.**"]
        parts += [f"## {title}\n\n{_table(('', ''), table.items())}" for title, table in self.tables()]
        profile = _table(("δ", "ε at most"), self.points()) if self.losses.profile else UNKNOWN
        parts += [f"## Privacy profile ε(δ)\n\n{profile}"]
        parts += [f"## Pitfalls\n\n{_table(('Question', 'Answer', 'Shown by'), self.asked())}", TEXTS["sources"]]
        return "\n\n".join(parts) + "\n"


def guarantee(
    *,
    steps: int,
    delta: float,
    size: int | None = None,
    sampler: str = UNKNOWN,
    runs: float = 1.0,
    law: Law = "geometric",
    answers: Mapping[str, str] = {},
    statements: Mapping[str, Mapping[str, str]] = {},
    losses: Losses | None = None,
    **one: Unpack[AnyStep],
) -> Guarantee:
    """The guarantee card of a plan.

    Args:
        steps: T, whole, ≥ 0.
        delta: δ in (0, 1).
        size: N, how many units there are; None where it is not known.
        sampler: how batches are really made, one of SAMPLERS; “not known” is never taken for what is accounted.
        runs: mean number of runs of which the best is released (`tuned_epsilon`); 1 for no tuning.
        law: what their number is drawn from, where it is above 1.
        answers: pitfall → "yes", "no" or "not known", of those that do not follow from the other arguments.
        statements: further entries of the registry, by group and name.
        losses: its numbers, where `losses_of` gave them before.
        **one: mechanism, one step; or in its place noise_multiplier, σ > 0, noise standard deviation ÷ sensitivity, and
            sample_rate, q in [0, 1].
    """
    step, count = one_mechanism(**one), _validate.whole(0, steps=steps)
    own = getattr(step, "size", size)
    if size not in (None, own):
        raise ValueError(f"Expected size={size} to be the mechanism's own, {own:g}. Leave it out.")
    size = own
    numbers = losses or losses_of(((step, count),), _validate.number(delta=delta), _validate.number(runs=runs), law)
    if size is not None:
        size = _validate.whole(1, size=size)
    _validate.choice("sampler", sampler, (*SAMPLERS, UNKNOWN))
    accounted, tuned = step.sampler or step.kind, runs > 1.0
    covers = (accounted, *TEXTS["covered"].get(accounted, ()))
    computed = {
        "adjacency": YES,
        "sampler": UNKNOWN if UNKNOWN in (sampler, accounted) else YES if sampler in covers else NO,
        "delta": UNKNOWN if size is None else YES if delta * size < 1.0 - 1e-12 else NO,
        **({"tuning": YES} if tuned else {}),
        **({"rows": YES} if step.adjacency.unit == step.adjacency.PERSON.unit else {}),
    }
    if both := computed.keys() & answers:
        raise ValueError(f"Expected no answer to {', '.join(sorted(both))}: the other settings decide. Leave it out.")
    prover = Renyi() if Tight().supports(step) else Tight()
    values = {
        "unit": step.adjacency.unit,
        "adjacency": step.adjacency.name,
        "mechanism": step.text,
        "count": f"{count:,} {step.step}{'s' * (count != 1)}",
        "accountant": f"{prover.card.name} ({prover.card.cited})",
        "version": __version__,
        "accounted": SAMPLERS.get(accounted, accounted),
        "run": SAMPLERS.get(sampler, sampler),
        "size": UNKNOWN if size is None else f"{size:,}",
        "product": "" if size is None else f"{rounded_up(delta * size * (1.0 - 1e-12), 3):.3g}",
        "assumes": step.assumes.replace("**", ""),
        "tuning": TEXTS["tuning"]["several" if tuned else "one"].format(
            runs=f"{runs:g}", law=TEXTS["laws"].get(law, law)
        ),
    }
    plan = {group: {name: text.format(**values) for name, text in entries.items()}
            for group, entries in TEXTS["plan"].items()}  # fmt: skip
    merged = {group: plan.get(group, {}) | dict(statements.get(group, {})) for group in {**plan, **statements}}
    return Guarantee(
        losses=numbers,
        statements=merged,
        replies={name: Reply(answer, _why(name, answer, values)) for name, answer in computed.items()}
        | {name: Reply(answer, "" if answer == UNKNOWN else TEXTS["by_author"]) for name, answer in answers.items()},
    )


def _why(pitfall: str, answer: str, values: Mapping[str, str]) -> str:
    return PITFALLS[pitfall].get("unknown" if answer == UNKNOWN else answer, "").format(**values)


@remembered
def losses_of(events: tuple[Event, ...], delta: float, runs: float = 1.0, law: Law = "geometric") -> Losses:
    """The numbers of a plan: equal steps [(mechanism, count), …] together, by the tight accountant where it knows all.

    Args:
        events: what is released.
        delta: δ in (0, 1).
        runs, law: of the search of which the best run is released; above 1 for one kind of step alone.
    """
    tight = not any(Tight().supports(mechanism) for mechanism, _ in events)
    if runs != 1.0:
        ((mechanism, steps),) = events
        search: Search = {"runs": runs, "law": law}
        curve = _profile(lambda d: tuned_epsilon(mechanism=mechanism, steps=steps, delta=d, **search), delta)
    elif tight:
        curve = _profile(lambda d: tight_epsilon_of_events(events, d).upper, delta)
    else:
        curve = _profile(lambda d: Renyi().of_events(events, d).epsilon, delta)
    losses = Losses(delta=delta, **curve)
    if runs != 1.0 or not tight:
        return losses
    losses = replace(losses, epsilon_lower=float(tight_epsilon_of_events(events, delta).lower))
    if len(events) > 1:
        return losses
    ((mechanism, steps),) = events
    mu, regret = gaussian_mu(mechanism=mechanism, steps=steps, delta=delta)
    return replace(
        losses, mu=mu, mu_regret=regret, attack_accuracy=best_accuracy(mechanism=mechanism, steps=steps).upper
    )


@remembered
def quick_losses(mechanism: Mechanism, steps: int, delta: float) -> Losses:
    """ε and profile alone, as `losses_of` has them for one run."""
    return Losses(delta=delta, **_profile(lambda d: tight_epsilon_of_events(((mechanism, steps),), d).upper, delta))


def losses_of_rho(rho: float, delta: float) -> dict[str, Any]:
    """ε and profile of ρ-concentrated DP, R(α) ≤ ρα (Bun, Steinke 2016), which one Gaussian release has too."""
    alike = SampledGaussian((2.0 * rho) ** -0.5, 1.0)
    return _profile(lambda d: Renyi().epsilon_of(alike, steps=1, delta=d).epsilon, delta)


def _profile(epsilon_at: Callable[[float], Any], delta: float) -> dict[str, Any]:
    """ε at δ, and the finite points of the profile."""
    pairs = [(float(epsilon_at(d)), d) for d in sorted({*PROFILE, delta}, reverse=True)]
    return {
        "epsilon": next(epsilon for epsilon, d in pairs if d == delta),
        "profile": tuple((epsilon, d) for epsilon, d in pairs if math.isfinite(epsilon)),
    }


@remembered
def deployments() -> Mapping[str, Guarantee]:
    """Cards of known deployments by their keys, with published numbers alone; what was not published is not known."""
    tables = tomllib.loads(Path(__file__).with_name("deployments.toml").read_text("utf-8"))
    numbers = {one.name for one in fields(Losses)}
    cards = {}
    for key, table in tables.items():
        given = {name: value for name, value in table.items() if name in numbers}
        follow = losses_of_rho(given["rho"], given["delta"]) if "rho" in given else {}
        cards[key] = Guarantee(
            losses=Losses(**follow | given),
            statements=table["statements"],
            replies={name: Reply(*reply) for name, reply in table.get("pitfalls", {}).items()},
        )
    return cards


# --- texts ------------------------------------------------------------------------------------------------------------


def _among(what: str, names: Mapping[str, object], allowed: Mapping[str, object]) -> None:
    for name in names:
        if name not in allowed:
            raise ValueError(f"Expected {what}={name!r} to be one of {', '.join(allowed)}.")


def _rounded(value: float, words: Mapping[str, str]) -> float:
    rounding = {"up": rounded_up, "down": rounded_down}.get(words.get("rounding", ""))
    return value if rounding is None else rounding(value, DIGITS)


def _short(value: float) -> str:
    return f"{value:.{DIGITS}g}".replace("e-0", "e-")


def _flat(text: str) -> str:
    """A text that no table or mark of Markdown breaks: names of runs are anybody's."""
    return " ".join(re.sub(r"([\\|`*_\[\]<])", r"\\\1", text).split())


def _table(heads: tuple[str, ...], rows: Any) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(_flat, row))} |" for row in lines)

"""Sentences that libraries print about a training, as settings with their lines.

TF Privacy's `compute_dp_sgd_privacy_statement` prints numbers before their words, over several lines, and two ε for
two ways to make batches. Logs write “3510 steps” and “8 accumulation steps”.

>>> [f"{one.name} = {one.value} (line {one.line})" for one in settings_of("trained for 60 epochs\\nand 3,510 steps")[1]]
['epochs = 60 (line 1)', 'steps = 3510 (line 2)']
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

NUMBER = r"(\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?)"
STATEMENT = re.compile(
    rf"DP-SGD\s+performed\s+over\s+(?P<n>{NUMBER})\s+examples\s+with\s+(?P<batch_size>{NUMBER})\s+examples\s+per\s+"
    rf"iteration,\s+noise\s+multiplier\s+(?P<noise_multiplier>{NUMBER})\s+for\s+(?P<epochs>{NUMBER})\s+epochs\s+"
    rf"(?P<used_microbatching>with|without)\s+microbatching,\s+and\s+(?:at\s+most\s+(?P<max_examples_per_user>{NUMBER})"
    r"|no\s+bound\s+on\s+number\s+of)\s+examples\s+per\s+user\.?"
)
LEVEL = re.compile(
    rf"(?P<unit>Example|User)-level\s+DP\s+with\s+(?P<adjacency>[\w-]+)\s+adjacency\s+at\s+delta\s*=\s*(?P<delta>{NUMBER})"
    r"\s+computed\s+(?:with|using)\s+\w+\s+accounting(?:\s+and\s+group\s+privacy)?:"
)
IN_ORDER = re.compile(rf"Epsilon\s+with\s+each\s+example\s+occurring\s+once\s+per\s+epoch:\s+(?P<epsilon>{NUMBER}|\S+)")
POISSON = re.compile(rf"Epsilon\s+assuming\s+Poisson\s+sampling(?:\s*\(\*\))?:\s+(?P<epsilon>{NUMBER}|\S+)")
ONCE_PER_EPOCH = "once_per_epoch"  # how the statement's first ε has batches made
# A count before its word; what follows “per” counts something else, and so do lines that say when something happens.
COUNT = re.compile(
    r"(?<![\w.,=:+/*^×±-])(?<![=:] )(\d[\d,]*(?:\.\d+)?) (gradient[- ]accumulation[- ]|accumulation[- ])?"
    r"(steps|iterations|updates|epochs)\b(?! ?(?:per|in each|[=:/]))",
    re.IGNORECASE,
)
ASIDE = re.compile(
    r"\b(every|each|per|warm-?up|warms?|eval\w*|valid\w*|test\w*|log\w*|sav\w*|checkpoint\w*|patience|remain\w*|left|last|"
    r"first|next|resum\w*|from|until|skip\w*|ago|decay\w*|schedul\w*|print\w*|freez\w*|pre-?train\w*)\b",
    re.IGNORECASE,
)


class PrintedSetting(NamedTuple):
    """A name and its value, as Python writes it, from one line."""

    name: str
    value: str
    line: int


def settings_of(text: str) -> tuple[str, list[PrintedSetting]]:
    """The text without the sentences that are known, and the settings in them; lines keep their places."""
    rest, settings = _statement(text)
    for number, line in enumerate(rest.split("\n"), 1):
        settings += [] if ASIDE.search(line) else _counts(line, number)
    return rest, settings


def _statement(text: str) -> tuple[str, list[PrintedSetting]]:
    """TF Privacy's statement; nothing where the text has none or several, which is then not read as one."""
    heads = list(STATEMENT.finditer(text))
    if len(heads) != 1:
        return text, []
    head = heads[0]
    settings = [
        PrintedSetting(name, _plain(value), _line(text, head.start(name)))
        for name, value in head.groupdict().items()
        if value
    ]
    levels = list(LEVEL.finditer(text))
    for level in levels:
        settings.append(PrintedSetting("delta", _plain(level["delta"]), _line(text, level.start("delta"))))
        settings.append(PrintedSetting("adjacency", repr(level["adjacency"]), _line(text, level.start("adjacency"))))
    claims = list(IN_ORDER.finditer(text))
    # The ε of a user stands below that of an example, where the number of a user's examples is bounded.
    for claim in claims[-1:]:
        settings.append(PrintedSetting("sampling", repr(ONCE_PER_EPOCH), _line(text, claim.start())))
        settings.append(PrintedSetting("epsilon", _plain(claim["epsilon"]), _line(text, claim.start("epsilon"))))
    spans = [match.span() for match in (head, *levels, *claims, *POISSON.finditer(text))]
    return _blanked(text, spans), sorted(settings, key=lambda one: one.line)


def _counts(line: str, number: int) -> Iterator[PrintedSetting]:
    for value, accumulated, unit in COUNT.findall(line):
        name = "accumulation_steps" if accumulated else "epochs" if unit.lower() == "epochs" else "steps"
        yield PrintedSetting(name, _plain(value), number)


def _plain(value: str) -> str:
    """The value as Python: a number without commas between thousands, a switch, or what is not read."""
    if value in ("with", "without"):
        return str(value == "with")
    digits = value.replace(",", "") if re.fullmatch(r"[1-9]\d{0,2}(,\d{3})+(\.\d+)?", value) else value.rstrip(",.")
    return digits if re.fullmatch(NUMBER.replace(",", ""), digits) else "unread()"


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _blanked(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with blanks in these places; its lines stay."""
    for first, last in spans:
        text = text[:first] + re.sub(r"[^\n]", " ", text[first:last]) + text[last:]
    return text

"""The shell: ``python -m dpviz epsilon --noise-multiplier 4 --sample-rate 0.01 --steps 10000 --delta 1e-5``.

Numbers are written as on the pages: 1e-5, 256/60000, 50 %, 10k. Answers go to standard output, as JSON with ``--json``;
what is wrong with an argument goes to standard error, with exit code 2. Where argcomplete is installed
(``dpviz[shell]``), ``eval "$(register-python-argcomplete dpviz)"`` completes commands, questions and options.
"""

# PYTHON_ARGCOMPLETE_OK

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import dpviz
from dpviz._extras import MissingExtra, extra
from dpviz.accounting.pld.accountant import Tight
from dpviz.fields.parameters import PARAMETERS
from dpviz.mechanisms import MECHANISMS, of_person
from dpviz.ui.launch import launch

KINDS = {kind.kind: kind for kind in MECHANISMS}
UNKNOWNS = (*dict.fromkeys(kind.noise for kind in MECHANISMS), "sample_rate", "steps", "delta")
NUMBERS = {name: f"{field.label} ({field.example})" for name, field in PARAMETERS.items()} | {
    "steps": "T: number of steps",
    "delta": "δ: probability with which ε may fail",
    "epsilon": "ε",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    parser = _parser()
    with suppress(ImportError):
        import argcomplete

        argcomplete.autocomplete(parser)
    given, settings = parser.parse_known_args(arguments)
    try:
        if settings and given.command != "ask":
            raise ValueError(
                f"{settings[0]!r} is not an option of {given.command}; 'python -m dpviz "
                f"{given.command} --help' lists all options."
            )
        if given.command == "ask":
            _ask(given, settings)
        elif given.command == "app":
            launch(given.port)
        else:
            answer = _answer(given)
            unknown = getattr(given, "unknown", given.command)
            print(json.dumps({unknown: answer, "method": given.method}) if given.json else repr(answer))
    except (ValueError, OSError, MissingExtra) as problem:
        print(f"dpviz: {problem}", file=sys.stderr)
        return 2
    return 0


def _answer(given: argparse.Namespace) -> float:
    """ε, δ, or what `solve` finds."""
    kind, unknown = KINDS[given.mechanism], getattr(given, "unknown", given.command)
    unknown = kind.noise if unknown in {each.noise for each in MECHANISMS} else unknown
    others = {name for each in MECHANISMS for name in each.parameters()} - set(kind.parameters())
    if wrong := sorted(name for name in others if getattr(given, name) is not None):
        raise ValueError(
            f"--{wrong[0].replace('_', '-')} does not belong to --mechanism {kind.kind} ({kind.title}); leave it out."
        )
    own = {name: 1.0 if name == unknown else _number(name, getattr(given, name)) for name in kind.parameters()}
    asked = ("steps", "delta", "epsilon")
    known: dict[str, Any] = {name: _number(name, getattr(given, name)) for name in asked if name != unknown}
    rows = int(_number("rows", given.rows or "1"))
    known |= _how(given) | {"mechanism": of_person(kind(**own), rows)}
    if given.command == "solve":
        return dpviz.solve(unknown, target_epsilon=known.pop("epsilon"), **known)
    return float(getattr(dpviz, given.command)(**known))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("dpviz", description="Compute and show differential privacy.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"dpviz {dpviz.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, purpose in (("epsilon", "compute ε of T equal steps"), ("delta", "compute δ of T equal steps for an ε")):
        command = commands.add_parser(name, help=purpose, description=purpose, allow_abbrev=False)
        _numbers(command, [one for one in NUMBERS if one != name])
    solve = commands.add_parser("solve", help="compute one of σ, q, T and δ for an ε", allow_abbrev=False)
    solve.add_argument("unknown", choices=UNKNOWNS)
    _numbers(solve, list(NUMBERS))
    ask = commands.add_parser(
        "ask",
        help="answer a question of the app: numbers and chart",
        description="Answer a question of the app. Without a question, list all; with --settings, list its settings.",
        epilog="Give settings as --name value, for example: dpviz ask success --epsilon 1 --csv curve.csv",
        allow_abbrev=False,
    )
    question = ask.add_argument("question", nargs="?")
    question.completer = _questions  # type: ignore[attr-defined] # argcomplete's own way
    ask.add_argument("--settings", action="store_true", help="list the settings of the question")
    ask.add_argument("--json", action="store_true", help="print headline, numbers, settings and link as JSON")
    ask.add_argument("--table", action="store_true", help="print twelve rows of the curves")
    ask.add_argument("--script", action="store_true", help="print the Python script that makes the chart")
    ask.add_argument("--csv", type=Path, metavar="FILE", help="write all points as CSV")
    ask.add_argument(
        "--html", type=Path, metavar="FILE", help="write a web page with working sliders, which needs no server"
    )
    ask.add_argument("--png", type=Path, metavar="FILE", help="write the chart as an image (needs kaleido)")
    app = commands.add_parser(
        "app",
        help="open the app in a browser",
        description="Open the app in a browser. Other accounts of this machine cannot use it.",
        epilog="With DPVIZ_TOKEN=… set, every browser needs that token once: http://localhost:8501/?token=…",
        allow_abbrev=False,
    )
    app.add_argument("--port", default="8501", help="the port, which only this machine can reach (default 8501)")
    return parser


def _numbers(command: argparse.ArgumentParser, names: Sequence[str]) -> None:
    kinds = "; ".join(f"{key}: {kind.title}" for key, kind in KINDS.items())
    command.add_argument(
        "--mechanism", choices=KINDS, default=next(iter(KINDS)), help=f"the mechanism of a step. {kinds}"
    )
    help_ = f"the accountant (default {Tight.name}: numerical (PLD), the smallest proven ε)"
    command.add_argument("--method", choices=dpviz.METHODS, default=Tight.name, help=help_)
    command.add_argument("--json", action="store_true", help="print the answer as JSON")
    command.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="an option of the accountant"
    )
    for name in names:
        command.add_argument(f"--{name.replace('_', '-')}", dest=name, metavar="NUMBER", help=NUMBERS[name])


def _how(given: argparse.Namespace) -> dict[str, Any]:
    """The accountant and its options."""
    pairs = [text.partition("=") for text in given.option]
    wrong = [name for name, equals, _ in pairs if not equals]
    if wrong:
        raise ValueError(f"--option {wrong[0]} has no value; try --option conversion=classic.")
    return {"method": given.method} | {name: int(text) if text.isdecimal() else text for name, _, text in pairs}


def _number(name: str, text: str | None) -> float:
    """A number as pages read it."""
    from dpviz.fields.field import Number

    flag = f"--{name.replace('_', '-')}"
    if text is None:
        raise ValueError(f"{flag} is missing ({NUMBERS[name]}).")
    return Number(key=name, label=flag, default=0.0, example="0.01").parse(text)


def _questions(**_: Any) -> list[str]:
    """Names of all questions, to complete one."""
    with extra("ask"):
        from dpviz.questions.catalogue import QUESTIONS

    return list(QUESTIONS)


def _ask(given: argparse.Namespace, words: Sequence[str]) -> None:
    with extra("ask"):
        from dpviz.questions.asked import ask
        from dpviz.questions.catalogue import QUESTIONS

    if given.question is None:
        for key, question in QUESTIONS.items():
            print(f"{key:<14}{question.title}")
        return
    if given.settings and given.question in QUESTIONS:
        for name, field in QUESTIONS[given.question].named().items():
            print(f"--{name.replace('_', '-'):<22}{field.label} ({field.write(field.default)})")
        return
    answer = ask(given.question, **_pairs(words))
    if given.json:
        print(json.dumps(answer.to_json(), ensure_ascii=False))
    else:
        print(answer.headline)
        for metric in answer.question.metrics(answer.answer):
            print(f"  {metric.name}: {metric.value}{f' ({metric.note})' if metric.note else ''}")
        for note in answer.question.notes(answer.answer):
            print(f"  {note.text}")
    if given.table:
        print(answer.table().to_string(index=False))
    if given.script:
        print(answer.script())
    if given.csv:
        answer.data().to_csv(given.csv, index=False)
    if given.html:
        answer.html(given.html)
    if given.png:
        try:
            answer.figure().write_image(given.png, width=1000, height=500)
        except (ImportError, RuntimeError) as missing:  # plotly's own words say what to install
            raise ValueError(f"No image could be made: {str(missing).strip().splitlines()[0]}") from None


def _pairs(words: Sequence[str]) -> dict[str, str]:
    """--name value --other=value … by name."""
    settings: dict[str, str] = {}
    waiting = list(words)
    while waiting:
        name, equals, text = waiting.pop(0).partition("=")
        if not name.startswith("--"):
            raise ValueError(f"Expected --NAME VALUE, found {name!r}.")
        if not equals:
            if not waiting:
                raise ValueError(f"{name} has no value.")
            text = waiting.pop(0)
        settings[name.removeprefix("--").replace("-", "_")] = text
    return settings


if __name__ == "__main__":
    sys.exit(main())

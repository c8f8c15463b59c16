"""The shell: ``python -m dpviz epsilon --noise-multiplier 4 --sample-rate 0.01 --steps 10000 --delta 1e-5``.

Numbers are written as on the pages: 1e-5, 256/60000, 50 %, 10k. ``--size 60000 --batch 256`` stand for the sampling
rate, ``--epochs 60`` for the steps that they take. Answers go to standard output, as JSON with ``--json``;
what is wrong with an argument goes to standard error, with exit code 2. Where argcomplete is installed
(``dpviz[shell]``), ``eval "$(register-python-argcomplete dpviz)"`` completes commands, questions and options.
"""

# PYTHON_ARGCOMPLETE_OK

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import dpviz
from dpviz._extras import MissingExtra, extra
from dpviz._other_names import right_name
from dpviz.accounting import meanings
from dpviz.accounting.methods import ALIASES
from dpviz.accounting.pld.accountant import Tight
from dpviz.fields.expression import steps_of
from dpviz.fields.parameters import PARAMETERS
from dpviz.mechanisms import MECHANISMS, Mechanism, of_person
from dpviz.runs.cluster.launch import usable_cores
from dpviz.runs.store.records import StoreError
from dpviz.ui.launch import LOCAL, launch, stop

KINDS = {kind.kind: kind for kind in MECHANISMS}
HERE = "http://localhost:8501"  # where the app is, unless --port says otherwise
UNKNOWNS = (*dict.fromkeys(kind.noise for kind in MECHANISMS), "sample_rate", "steps", "delta")
NUMBERS = {name: f"{field.label} ({field.example})" for name, field in PARAMETERS.items()} | {
    "steps": "T: number of steps",
    "delta": f"δ: {meanings.DELTA}",
    "epsilon": "ε",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    parser = _parser()
    with suppress(ImportError):
        import argcomplete

        argcomplete.autocomplete(parser)
    try:
        try:
            _run(*parser.parse_known_args(arguments))
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # who reads has read enough, as `head` does
        _write_no_more()
    except (ValueError, OSError, MissingExtra, StoreError) as problem:
        print(f"dpviz: {problem}", file=sys.stderr)
        return 2
    return 0


def _write_no_more() -> None:
    """Let standard output lead nowhere: Python would write what is left of it at its end, and complain."""
    with suppress(OSError), open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _run(given: argparse.Namespace, settings: Sequence[str]) -> None:
    if given.command is None:
        _parser().print_help()
        return
    if settings and given.command != "ask":
        option, *_ = settings[0].split("=")
        right = right_name(option.removeprefix("--").replace("-", "_"), vars(given))
        way_out = (
            f"it is called --{right.replace('_', '-')} here" if right else f"'dpviz {given.command} --help' lists all"
        )
        raise ValueError(f"{option!r} is not an option of {given.command}; {way_out}.")
    if given.command == "ask":
        _ask(given, settings)
    elif given.command == "app":
        launch(given.port, public=given.public, address=given.address, names=given.name)
    elif given.command == "stop":
        stop()
    elif given.command == "site":
        _site(given)
    elif given.command == "audit":
        _audit(given)
    else:
        answer = _answer(given)
        unknown = getattr(given, "unknown", given.command)
        print(json.dumps({unknown: answer, "method": given.method}) if given.json else repr(answer))


def _answer(given: argparse.Namespace) -> float:
    """ε, δ, or what `solve` finds."""
    kind, unknown = KINDS[given.mechanism], getattr(given, "unknown", given.command)
    unknown = kind.noise if unknown in {each.noise for each in MECHANISMS} else unknown
    _take_units(kind, unknown, given)
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


def _take_units(kind: type[Mechanism], unknown: str, given: argparse.Namespace) -> None:
    """Put q in place of --size and --batch, and T in place of --epochs, where they are not the mechanism's own.

    As on the pages, q is batch ÷ N and T is epochs ÷ q, rounded up; of a mechanism whose step is an epoch, T is the
    epochs.

    Raises:
        ValueError: if a number is given twice, or if nothing follows from one.
    """
    own = kind.parameters()
    if given.batch is not None and "sample_rate" in own:
        if unknown == "sample_rate" or given.sample_rate is not None:
            raise ValueError("--size and --batch give the sampling rate: leave them out, or --sample-rate.")
        given.sample_rate, given.batch = repr(_share(given)), None
        if "size" not in own:
            given.size = None
    if given.epochs is not None and "epochs" not in own:
        if unknown == "steps" or given.steps is not None:
            raise ValueError("--epochs gives the number of steps: leave it out, or --steps.")
        if unknown == "sample_rate":
            raise ValueError("--epochs is no number of steps without a sampling rate: give --steps.")
        epochs = _number("epochs", given.epochs)
        if kind.step == "step":
            rate = _number("sample_rate", given.sample_rate) if "sample_rate" in own else _share(given)
            if not rate > 0.0:
                raise ValueError("--epochs is no number of steps at a sampling rate of 0: give --steps.")
            epochs = steps_of(epochs, rate)
        given.steps, given.epochs = repr(epochs), None


def _share(given: argparse.Namespace) -> float:
    """Batch ÷ N."""
    batch, size = _number("batch", given.batch), _number("size", given.size)
    if not 0.0 <= batch <= size or not size:
        raise ValueError(f"--batch {given.batch} is outside 0 to --size {given.size}, the number of examples.")
    return batch / size


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("dpviz", description="Compute and show differential privacy.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"dpviz {dpviz.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
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
    site = commands.add_parser(
        "site",
        help="write a folder of web pages with working sliders, which need no server",
        description="Write a folder of web pages with working sliders, and an index. They need no network.",
        allow_abbrev=False,
    )
    site.add_argument(
        "folder", type=Path, metavar="OUT", help="the folder; files of these names in it are written anew"
    )
    site.add_argument("--app", default=HERE, metavar="URL", help=f"the app to which pages link (default {HERE})")
    only = "pages of this question alone; may be given again"
    site.add_argument("--only", action="append", default=[], metavar="QUESTION", help=only)
    site.add_argument("--docs", default="", metavar="URL", help="the documentation to which the index links")
    site.add_argument(
        "--jobs", type=int, default=0, metavar="N", help="processes that make pages (default: one a core)"
    )
    audit = commands.add_parser(
        "audit",
        help="show what attacks on real runs find of ε, and which planted faults",
        description="Lower bounds on ε, at 95 % each, from attacks on recorded runs with and without planted faults, "
        "beside the claim; or on new runs of a training of your own.",
        epilog="The function takes whether the row is in, and returns a dpviz.training.PrivateTraining that has not "
        "taken a step. Its data with and without the row differ in that row alone. FILE.py:FUNCTION names it as well.",
        allow_abbrev=False,
    )
    audit.add_argument("training", nargs="?", metavar="MODULE:FUNCTION", help="your own training")
    audit.add_argument("--runs", default="1000", metavar="NUMBER", help="runs a side (default 1000)")
    audit.add_argument("--delta", metavar="NUMBER", help="δ (default 0.01; of your own training that of its plan)")
    audit.add_argument("--json", action="store_true", help="print the table as JSON")
    app = commands.add_parser(
        "app",
        help="open the app in a browser",
        description="Open the app in a browser. Other accounts of this machine cannot use it.",
        epilog="With DPVIZ_TOKEN=… set, every browser needs that token once: http://localhost:8501/?token=…",
        allow_abbrev=False,
    )
    app.add_argument("--port", default="8501", help="the port (default 8501)")
    app.add_argument(
        "--public", action="store_true", help="let everybody use it: what-if pages and papers, no training and no runs"
    )
    app.add_argument(
        "--address", default=LOCAL, help=f"the address to listen at; 0.0.0.0 for all (default {LOCAL}, this machine)"
    )
    app.add_argument(
        "--name", action="append", default=[], help="a name that browsers may call it by, beside localhost; repeatable"
    )
    commands.add_parser(
        "stop",
        help="end the workers of this machine, which go on without the app",
        description="End the workers of this machine, and the runs that they compute. Runs that wait go on waiting.",
        allow_abbrev=False,
    )
    return parser


def _numbers(command: argparse.ArgumentParser, names: Sequence[str]) -> None:
    kinds = "; ".join(f"{key}: {kind.title}" for key, kind in KINDS.items())
    command.add_argument(
        "--mechanism", choices=KINDS, default=next(iter(KINDS)), help=f"the mechanism of a step. {kinds}"
    )
    others = ", ".join(f"{alias} for {name}" for alias, name in ALIASES.items())
    help_ = f"the accountant (default {Tight.name}: PLD, the smallest proven ε); also {others}"
    command.add_argument("--method", type=_by_name, choices=dpviz.METHODS, default=Tight.name, help=help_)
    command.add_argument("--json", action="store_true", help="print the answer as JSON")
    command.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="an option of the accountant"
    )
    for name in names:
        command.add_argument(f"--{name.replace('_', '-')}", dest=name, metavar="NUMBER", help=NUMBERS[name])


def _by_name(method: str) -> str:
    """An accountant's own name for another one; argparse compares it with the choices."""
    return ALIASES.get(method, method)


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


def _audit(given: argparse.Namespace) -> None:
    """The table of recorded runs, or of new runs of one's own training."""
    with extra("ask"):
        import pandas as pd

        from dpviz.questions.attack.audit import DELTA_AUDIT, RUNS
        from dpviz.questions.attack.audit_runs import fault_rows, own_row

    delta = DELTA_AUDIT.parse(given.delta) if given.delta else None
    if given.training is None:
        rows = fault_rows(int(RUNS.parse(given.runs)), DELTA_AUDIT.default if delta is None else delta)
    else:
        sys.path.insert(0, "")  # as python -m does: the module lies where the command is called
        rows = [own_row(given.training, int(replace(RUNS, high=1e6).parse(given.runs)), delta)]
    if given.json:
        print(json.dumps(rows, ensure_ascii=False))
        return
    print(pd.DataFrame(rows).drop(columns="why").to_string(index=False))
    for row in rows:
        print(f"\n{row['training']}: {row['why']}")


def _site(given: argparse.Namespace) -> None:
    with extra("ask"):
        from dpviz.questions import gallery
        from dpviz.questions.handout import INDEX

    if given.jobs < 0:
        raise ValueError(f"--jobs {given.jobs} is negative: give a number of processes, or 0 for one a core.")
    if not given.app.startswith(("http://", "https://")):
        raise ValueError(f"--app {given.app!r} is no address: give one as {HERE}.")
    begun = time.monotonic()
    jobs = given.jobs or usable_cores()
    gallery.write(given.folder, app=given.app, docs=given.docs, only=given.only, jobs=jobs, say=print)
    size = sum(file.stat().st_size for file in given.folder.iterdir() if file.is_file())
    print(f"{given.folder / INDEX}: {size / 1e6:.1f} MB in {time.monotonic() - begun:.0f} s")


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

"""The engine of runs as pages use it: one for all sessions of this process, with its troubles in words."""

from dpviz.runs.engine import Engine
from dpviz.runs.engine import engine as shared
from dpviz.runs.store.records import StoreError


def current() -> tuple[Engine | None, str]:
    """The engine, or why there is none."""
    try:
        return shared(), ""
    except (StoreError, OSError) as problem:
        return None, str(problem)


def warmed(engine: Engine) -> str:
    """Ask for the workers ahead of the first run; returns at once, with what is wrong, or nothing."""
    try:
        engine.warm()
    except (StoreError, RuntimeError) as problem:
        return str(problem)
    return engine.problem

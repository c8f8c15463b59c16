"""A public server: everybody may use it, so it trains nothing, keeps no runs and takes no files."""

import os
from collections.abc import Mapping

PUBLIC_VARIABLE = "DPVIZ_PUBLIC"

NO_TRAINING = (
    "This server has no training: it trains and measures no networks, keeps no runs and takes no files. With dpviz on "
    "your own computer you can do all of that."
)


def is_public(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether `DPVIZ_PUBLIC` asks for a public server.

    Raises:
        ValueError: for another value than 1, 0 or nothing: a misspelt yes would open a server that trains.
    """
    text = environment.get(PUBLIC_VARIABLE, "")
    if text not in ("", "0", "1"):
        raise ValueError(f"Expected {PUBLIC_VARIABLE}={text!r} to be 1 for a public server, or 0.")
    return text == "1"

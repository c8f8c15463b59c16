"""Controls that are more than a field, by the name that a question's layout gives them."""

from __future__ import annotations

from collections.abc import Callable

from dpviz.ui import networks, snippets, sources, spending
from dpviz.ui.train import plan

SPECIAL: dict[str, Callable[[], None]] = {
    "network": networks.chooser,
    "learned": plan.learned,
    "start": plan.start,
    "compose": plan.compose,
    "upload": sources.upload,
    "blocks": spending.blocks,
    "ledger": spending.ledger,
    "snippet": snippets.paste,
}

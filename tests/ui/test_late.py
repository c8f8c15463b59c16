"""What a browser is told of slow parts."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

from dpviz.ui.hand.late import Late, answer


async def _stays() -> bool:
    return False


def _told(late: Late) -> Any:
    found = asyncio.run(answer(late, _stays))
    assert found is not None
    return json.loads(found)


def test_what_cannot_be_shown_has_failed() -> None:
    """A request that fails without an answer would be repeated for ever."""

    def show(_: Any) -> Any:
        raise RuntimeError("no such curve")

    question: Any = SimpleNamespace(slow=())
    assert _told(Late("compose", question, SimpleNamespace(), show)) == {"late": False, "failed": True}  # type: ignore[arg-type]


def test_a_part_whose_name_cannot_be_told_has_failed() -> None:
    def key(_: Any) -> Any:
        raise RuntimeError("no key")

    question: Any = SimpleNamespace(slow=(SimpleNamespace(key=key),))
    late = Late("compose", question, SimpleNamespace(), lambda _: {"figure": {}})  # type: ignore[arg-type]
    assert _told(late) == {"late": False, "failed": True}

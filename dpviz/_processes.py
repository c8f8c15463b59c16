"""Needs of a pool's processes, whoever starts them."""

import os
import threading
from multiprocessing import parent_process


def end_with_parent() -> None:
    """End this process when the one that started it does: it would else work on, and then wait for ever."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, name="dpviz-parent", daemon=True).start()

"""The start of a public server: the app under uvicorn itself, which then names neither itself nor its version."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpviz.ui.public.messages import LONGEST_MESSAGE

CONNECTIONS = 2_000  # at once; more are answered with 503


def serve(app: Path, options: Mapping[str, Any]) -> None:
    """Serve the app of this file until it is ended.

    Args:
        options: Streamlit's, by name: "server.port", "server.address".
    """
    import uvicorn
    from streamlit import config

    os.chdir(app.parent)  # where Streamlit looks for its configuration
    config.get_config_options(force_reparse=True, options_from_flags=dict(options))
    _open_more_files()
    uvicorn.run(
        f"{app.stem}:app",
        app_dir=str(app.parent),
        host=str(options["server.address"]),
        port=int(options["server.port"]),
        server_header=False,
        access_log=False,
        log_level="warning",
        ws="websockets-sansio",  # as Streamlit has it
        ws_max_size=LONGEST_MESSAGE + 1,
        ws_per_message_deflate=True,
        ws_ping_timeout=120.0,  # while a message waits, nothing is read, and an answer to a ping neither
        limit_concurrency=CONNECTIONS,
    )


def _open_more_files() -> None:
    """As many at once as this system allows: each connection is one."""
    with suppress(ImportError, ValueError, OSError):  # Windows knows no such limit
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

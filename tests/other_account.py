"""Code that another account of this machine runs: `nobody`, which every system has. Only root can become it."""

import os
import pwd
import subprocess
import sys

import pytest

CAN_BE_OTHERS = sys.platform == "linux" and os.geteuid() == 0
needs_root = pytest.mark.skipif(not CAN_BE_OTHERS, reason="only root can act as another account")

# What it needs is loaded before: the interpreter may lie in a folder of the owner's.
BECOME = """
import encodings.idna, http.client, json, os, pathlib, pwd, socket, struct, sys, threading, time
import websockets.sync.client, websockets.exceptions
{loaded}
other = pwd.getpwnam("nobody")
os.setgroups([]); os.setgid(other.pw_gid); os.setuid(other.pw_uid); os.chdir("/")
"""


def other_account() -> int:
    return pwd.getpwnam("nobody").pw_uid


def by_another(code: str, *arguments: object, loaded: str = "") -> str:
    """What `code`, which finds `arguments` in sys.argv[1:], prints when the other account runs it.

    Args:
        loaded: Lines that run before, as root.
    """
    ended = subprocess.run(
        [sys.executable, "-c", BECOME.format(loaded=loaded) + code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()

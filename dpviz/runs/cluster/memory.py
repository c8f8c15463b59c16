"""A worker's memory after a run: given back to the system, and measured, so that too large a worker is replaced."""

import ctypes
import gc
import sys
from contextlib import suppress

_ARENA_MAX, _MMAP_THRESHOLD = -8, -3  # glibc's names for them, without the M_

# Bytes that a worker may hold between two pieces of work: with PyTorch loaded a fresh one holds 350 MB. Beyond it is
# replaced.
MOST_MEMORY = 700_000_000


def give_back() -> None:
    """Return to the system what the allocator only keeps for later; glibc does not do so by itself."""
    gc.collect()
    if sys.platform.startswith("linux"):
        with suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)


def keep_little() -> None:
    """Let all threads allocate from the same few arenas, for each thread's own keeps what others could use; and give
    every large array a mapping of its own, which goes when the array goes.
    """
    if sys.platform.startswith("linux"):
        with suppress(OSError, AttributeError):  # another C library
            library = ctypes.CDLL(None)
            library.mallopt(_ARENA_MAX, 2)
            library.mallopt(_MMAP_THRESHOLD, 1_000_000)

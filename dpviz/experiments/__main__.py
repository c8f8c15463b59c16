"""See `dpviz.experiments.make`."""

from __future__ import annotations

import sys

from dpviz.experiments.make import main

if __name__ == "__main__":
    sys.exit(main())

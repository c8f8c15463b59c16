"""The command ``python -m dpviz.experiments``: see `dpviz.experiments.make`."""

import sys

from dpviz.experiments.make import main

if __name__ == "__main__":
    sys.exit(main())

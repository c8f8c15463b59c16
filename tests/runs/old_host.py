"""The host of the workers as another version of dpviz has it."""

from dpviz.runs.cluster import host

if __name__ == "__main__":
    host.code = lambda: "0.0.1-of-another-day"  # type: ignore[assignment]
    host.main()

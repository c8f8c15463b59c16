"""The host of the workers, which ends two seconds after the last work."""

from dpviz.runs.cluster import host

if __name__ == "__main__":
    host.IDLE = 2.0
    host.main()

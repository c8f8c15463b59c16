"""The Dask cluster that computes runs: the local one with its host and workers, and the way to it or to another."""

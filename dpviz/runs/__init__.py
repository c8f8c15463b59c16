"""Runs: submitted, streamed, stopped and stored; the only package that talks to Dask."""

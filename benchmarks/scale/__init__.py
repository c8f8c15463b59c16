"""Goals for large stores, long runs, many viewers, large tables of settings and whole steps, each with its value.

Written to docs/work/scale.md by ``make bench-scale``. `parts` says what is measured, `stores` makes the stores for it,
`measured` are the measurements, each in a process of its own, and `viewers` opens an app and watches a run.
"""

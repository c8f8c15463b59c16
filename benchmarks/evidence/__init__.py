"""Tables for docs/work/evidence.md: one module a promise, each with `table() -> str`."""
